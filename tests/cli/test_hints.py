"""Which command is typed next: from an error's code and what it knows, and nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import orchestrator
from orchestrator.base.errors import (
    CheckpointError,
    DeployError,
    HostError,
    Locked,
    PreflightRefused,
    UnknownFailure,
    UsageError,
)
from orchestrator.cli.hints import AFTER, AFTER_A_PROGRAM, OF_A_FLEET, OF_A_REPLICA, after, command_for, names
from orchestrator.cli.main import COMMANDS

PACKAGE = Path(orchestrator.__file__).parent
TYPED = "deploy up tiny --host gpu7 --no-predict"
ASKED = "tiny --host gpu7"


@pytest.mark.parametrize(
    ("error", "command"),
    [
        (UsageError("host_name", "x"), "deploy up --help"),
        (UsageError("unreadable_log", "x", near="a b.log"), "deploy diagnose 'a b.log'"),
        (UsageError("unknown_hosts", "x", near="rack1"), f"{TYPED} --hosts rack1"),
        (UsageError("invalid_option", "x", verb="logs"), "deploy logs --help"),
        (UsageError("invalid_option", "x", playbook="a b"), "deploy show 'a b'"),
        (UsageError("invalid_option", "x"), None),
        (UsageError("invalid_playbook", "x", next_command="vi a.yaml"), "vi a.yaml"),
        (UsageError("unknown_fault", "x"), "deploy rehearse --fault list"),
        (UsageError("unknown_fault", "x", playbook="tiny", fault="hang"), "deploy rehearse tiny --fault hang"),
        (PreflightRefused("consent_missing", "x", consent="linger"), f"{TYPED} --consent linger"),
        (PreflightRefused("port_taken", "x", port="8001"), f"{TYPED} --set port=8001"),
        (PreflightRefused("no_engine", "x"), f"{TYPED} --set engine.python=PATH"),
        (PreflightRefused("no_engine", "x", install="vllm==0.16.0"), f"{TYPED} --set engine.install=vllm==0.16.0"),
        (PreflightRefused("gpu_busy", "x", cards="1,2"), f"{TYPED} --env CUDA_VISIBLE_DEVICES=1,2"),
        (PreflightRefused("gpu_busy", "x", setting="arguments.gpu-memory-utilization=0.6"), f"{TYPED} --set arguments.gpu-memory-utilization=0.6"),
        (PreflightRefused("gpu_busy", "x", setting="arguments.gpu-memory-utilization=0.6", shorter="context=4096"), f"{TYPED} --set arguments.gpu-memory-utilization=0.6 --set context=4096"),
        (PreflightRefused("gpu_busy", "x", cards="1,2", narrower="parallel.tensor=2"), f"{TYPED} --set parallel.tensor=2 --env CUDA_VISIBLE_DEVICES=1,2"),
        (PreflightRefused("gpu_busy", "x", cards="1,2", narrower="parallel.tensor=2", needs="needs.gpus=2"), f"{TYPED} --set parallel.tensor=2 --set needs.gpus=2 --env CUDA_VISIBLE_DEVICES=1,2"),
        (PreflightRefused("gpu_busy", "x", next_command="nvidia-smi  # on gpu7"), "nvidia-smi  # on gpu7"),
        (PreflightRefused("option_unknown", "x", unset="max-num-seq", argument="max-num-seqs=8"), f"{TYPED} --set arguments.max-num-seq=null --engine-arg max-num-seqs=8"),
        (PreflightRefused("option_value", "x", unset="kv-cache-dtype", argument="kv-cache-dtype=fp8"), f"{TYPED} --engine-arg kv-cache-dtype=fp8"),
        (PreflightRefused("option_not_there", "x", unset="rope-theta"), f"{TYPED} --set arguments.rope-theta=null"),
        (Locked("locked", "x"), "deploy status tiny --host gpu7"),
        (Locked("checkpoint_busy", "x"), "deploy status tiny --host gpu7"),
        (Locked("checkpoint_busy", "x", program="config_files"), TYPED),
        (HostError("host_script", "x", program="facts"), f"{TYPED} -v"),
        (HostError("something", "x", program="facts"), None),
        (CheckpointError("config_missing", "x"), "deploy tiny --host gpu7"),
        (CheckpointError("config_missing", "x", program="config_files"), f"{TYPED} --model-dir DIR"),
        (CheckpointError("config_shape", "x", argument="kv-cache-dtype=bfloat16"), "deploy tiny --host gpu7 --engine-arg kv-cache-dtype=bfloat16"),
        (CheckpointError("config_shape", "x"), "deploy tiny --host gpu7"),
        (CheckpointError("something", "x"), "deploy tiny --host gpu7"),
        (UnknownFailure("unknown_cause", "x"), "deploy logs tiny --host gpu7"),
        (UnknownFailure("unknown_cause", "x", verb="restart"), "deploy restart tiny --host gpu7"),
    ],
)  # fmt: skip
def test_the_next_command(error: DeployError, command: str | None) -> None:
    error.asked = ASKED
    assert after(error, TYPED) == command


FLEET = "deploy fleet restart tiny --host gpu7"


@pytest.mark.parametrize(
    ("error", "command"),
    [
        (UsageError("no_fleet", "x", fleet="tiny"), "deploy fleet tiny --host gpu7 --replicas 2"),
        (UsageError("no_replica", "x", fleet="tiny"), "deploy fleet status tiny --host gpu7"),
        (UsageError("fleet_cards", "x", fleet="tiny", gpus="1"), f"{FLEET} --gpus 1"),
        (UsageError("fleet_cards", "x", fleet="tiny"), "deploy fleet stop tiny --host gpu7"),
        (UsageError("fleet_as_one", "x", fleet="tiny", hosts="2"), "deploy tiny --host gpu7 --as-one  # one model over 2 hosts"),
        (Locked("locked", "x", fleet="tiny"), "deploy fleet status tiny --host gpu7"),
        (PreflightRefused("consent_missing", "x", fleet="tiny", consent="linger"), f"{FLEET} --consent linger"),
        # of one replica, and what the command sets is for all of them
        (PreflightRefused("gpu_busy", "x", replica="tiny-1", fleet="tiny", cards="1,2"), FLEET),
        (PreflightRefused("port_taken", "x", replica="tiny-1", port="8001"), f"{FLEET} --set port=PORT"),
        (CheckpointError("checkpoint_broken", "x", replica="tiny-1"), FLEET),
        (CheckpointError("something", "x", replica="tiny-1"), FLEET),
        (UnknownFailure("unknown_cause", "x", replica="tiny-1", verb="restart"), "deploy logs tiny --host gpu7"),
        (Locked("locked", "x", replica="tiny-1", fleet="tiny"), "deploy status tiny --host gpu7"),
    ],
)  # fmt: skip
def test_the_next_command_for_a_fleet(error: DeployError, command: str) -> None:
    error.asked = ASKED
    assert after(error, FLEET) == command


def test_nothing_is_offered_that_names_what_nobody_said() -> None:
    assert after(Locked("locked", "x"), TYPED) is None  # of a deployment that was not asked for


@pytest.mark.parametrize("forms", [AFTER, AFTER_A_PROGRAM, OF_A_FLEET, OF_A_REPLICA])
def test_each_form_is_a_command_that_there_is(forms: dict[str, str | tuple[str, ...]]) -> None:
    for form in (
        form for of_code in forms.values() for form in ([of_code] if isinstance(of_code, str) else of_code)
    ):
        if form.startswith(("{command}", "{retyped}", "{whole}")):
            continue
        program, first = form.split()[:2]
        assert program == "deploy"
        assert first in COMMANDS or first in ("{asked}", "{verb}", "--help"), form
        assert names(form) <= {
            "asked",
            "verb",
            "playbook",
            "fault",
            "options",
            "argument",
            "near",
            "host",
            "hosts",
        }


def test_the_verbs_of_a_deployment() -> None:
    command = command_for(ASKED)
    assert command("stop") == "deploy stop tiny --host gpu7"
    assert command("up") == "deploy tiny --host gpu7"


VERB = re.compile(rf"\bdeploy (?:{'|'.join(COMMANDS)}|\{{)|\{{command\}}")
ALLOWED = {
    (
        "report/panel.py",
        "... {} more lines: deploy diff",
    ): "names the verb that shows them all, not a line to paste",
    (
        "checks/engine.py",
        "deploy engine install {} --host HOST",
    ): "what mends a check is said by the check, which knows no command line",
}


def _texts(path: Path) -> Iterator[str]:
    """The strings of a module that are no docstrings; values within them are {}."""
    tree = ast.parse(path.read_text())
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts |= {id(part) for part in node.values}
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told | parts:
            yield node.value


def test_commands_are_made_here_alone() -> None:
    made = {
        (file, text)
        for path in sorted(PACKAGE.rglob("*.py"))
        if not (file := path.relative_to(PACKAGE).as_posix()).startswith("cli/")
        for text in _texts(path)
        if VERB.search(text)
    }
    assert made == set(ALLOWED)
