"""What a shell is offered, asked as its script asks: through the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.cli.main import COMMANDS, run

ROOT = str(Path(__file__).parents[2])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder with hosts that ssh knows, and a playbook and a patch of one's own."""
    ssh = tmp_path / ".ssh"
    (ssh / "conf.d").mkdir(parents=True)
    (ssh / "config").write_text("Host gpu7 gpu8 *.corp !no\n  User ml\nInclude conf.d/*\n")
    (ssh / "conf.d" / "lab").write_text('host = "lab1"\nInclude conf.d/lab\n')
    (ssh / "known_hosts").write_text(
        "10.1.230.174,gate ssh-ed25519 AAAA\n[gate]:2222 ssh-rsa AAAA\n|1|hashed= ssh-rsa AAAA\n@revoked bad ssh-rsa A\n"
    )
    for kind, name in (("playbooks", "kept-mine"), ("patches", "fix-mine")):
        folder = tmp_path / ".config" / "deploy" / kind
        folder.mkdir(parents=True)
        (folder / f"{name}.yaml").write_text("")
    nested = tmp_path / ".config" / "deploy" / "patches" / "nccl"
    nested.mkdir()
    (nested / "mend-mine.yaml").write_text("")
    return tmp_path


def offered(home: Path, typed: str) -> list[str]:
    """What bash is offered for the last word of what was typed (empty behind a blank)."""
    words = typed.split(" ")
    asked = {"_DEPLOY_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator.cli.main"],
        env={"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": ROOT, **asked},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_the_first_word_is_a_verb_or_a_playbook(home: Path) -> None:
    first = offered(home, "deploy ")
    assert set(COMMANDS) <= set(first)
    assert {"kimi-k2.5", "kept-mine"} <= set(first)
    assert offered(home, "deploy ke") == ["kept-mine"]
    assert offered(home, "deploy sta") == ["status"]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("deploy plan ke", ["kept-mine"]),
        ("deploy plan kimi-k2.6", ["kimi-k2.6", "kimi-k2.6-nvfp4"]),
        ("deploy kimi-k2.5 --host g", ["gate", "gate:2222", "gpu7", "gpu8"]),
        ("deploy status kimi-k2.5 --host 10", ["10.1.230.174"]),
        ("deploy plan kimi-k2.5 --host lab", ["lab1"]),
        ("deploy plan kimi-k2.5 --host lo", ["local"]),
        ("deploy plan kimi-k2.5 --host ml@gpu", ["ml@gpu7", "ml@gpu8"]),
        ("deploy plan kimi-k2.5 --gpu H", ["H100", "H100-NVL", "H200"]),
        ("deploy plan kimi-k2.5 --gpu 8xRTX-P", ["8xRTX-PRO-6000"]),
        ("deploy kimi-k2.5 --patch fix", ["fix-mine"]),
        ("deploy revert kimi-k2.5 --patch fix", ["fix-mine"]),
        ("deploy show fix", ["fix-mine"]),
        ("deploy show mend", ["mend-mine"]),
        ("deploy kimi-k2.5 --consent t", ["token-to-endpoint", "trust-remote-code"]),
        ("deploy kimi-k2.5 --no-p", ["--no-patch", "--no-predict"]),
        ("deploy completion f", ["fish"]),
    ],
)
def test_what_follows(home: Path, typed: str, words: list[str]) -> None:
    assert offered(home, typed) == words


def test_hosts_of_another_ssh_config(home: Path) -> None:
    (home / "other").write_text("Host elsewhere\n")
    assert offered(home, f"deploy kimi-k2.5 -F {home}/other --host ") == ["elsewhere", "local"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_says_where_it_belongs_and_asks_the_way_that_is_tested_here(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert script.splitlines()[0].startswith("# put this line in ~/.")
    assert f"_DEPLOY_COMPLETE={shell}_complete" in script


def test_bash_takes_the_script(home: Path, tmp_path: Path) -> None:
    """A real bash sources it, completes `deploy plan tiny` and puts the answer in COMPREPLY."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "deploy").write_text(f'#!/bin/sh\nexec {sys.executable} -m orchestrator.cli.main "$@"\n')
    (tools / "deploy").chmod(0o755)
    script = (
        'eval "$(deploy completion bash)"; COMP_WORDS=(deploy plan tiny); COMP_CWORD=2; '
        '_deploy_completion deploy; echo "${COMPREPLY[@]}"'
    )
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        env={"PATH": path, "HOME": str(home), "PYTHONPATH": ROOT},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "tiny-mla", done.stderr
