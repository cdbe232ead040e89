"""Every error that a person can meet names the next command; what has none is listed here, with the reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import orchestrator
from orchestrator.base import errors
from orchestrator.base.errors import DeployError
from orchestrator.cli.hints import AFTER, AFTER_A_PROGRAM, OF_A_FLEET, after, names
from orchestrator.download.failure import Source, failure
from orchestrator.hosts.answers import Program, read_line

PACKAGE = Path(orchestrator.__file__).parent
KINDS = {
    name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, DeployError)
}
WITHOUT = {
    ("base/yaml_file.py", "code"): "load_model adds the command that opens the file at the line",
    ("hosts/quoting.py", "host_command"): "playbook and options refuse a NUL before it comes so far",
    ("plan/preflight.py", "objection.code"): "an engine's objections bring their codes: see below",
    (
        "base/errors.py",
        "internal",
    ): "a mistake in this program: its traceback stands above, and no command mends it",
}
NOT_MET = {
    "bad_request": "what this program itself asks of the host is well formed",
    "instance_name": "a playbook of another name is refused when it is read",
}


def calls(names: set[str], folder: Path = PACKAGE) -> Iterator[tuple[str, ast.Call]]:
    """Every call of these names under a folder, with the file that it stands in."""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text()
        if not any(name in text for name in names):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in names:
                yield path.relative_to(PACKAGE).as_posix(), node


def next_after(error: DeployError) -> str | None:
    """What is typed next after `deploy tiny --host gpu7`, as the edge makes it."""
    error.asked = "tiny --host gpu7"
    error.known.setdefault("playbook", "tiny")
    return after(error, "deploy tiny --host gpu7")


def code_of(call: ast.Call) -> str:
    code = call.args[0]
    return code.value if isinstance(code, ast.Constant) else ast.unparse(code)


def has_a_command(call: ast.Call) -> bool:
    """Whether the error comes with a command, or one is made of its code and what it knows."""
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    if given.get("next_command", "None") != "None":
        return True
    known = given.keys() | {"command", "asked", "playbook"} | ({"whole"} if "group" in given else set())
    forms = {**AFTER_A_PROGRAM, **AFTER, **OF_A_FLEET}.get(code_of(call), ())
    return any(
        None in given or names(form) <= known for form in ([forms] if isinstance(forms, str) else forms)
    )


def test_an_error_that_is_raised_has_a_next_command() -> None:
    found = list(calls(KINDS))
    assert len(found) > 50
    without = {(file, code_of(call)) for file, call in found if not has_a_command(call)}
    assert without == set(WITHOUT)


@pytest.mark.parametrize(
    "code", sorted({code_of(call) for _, call in calls({"Objection"}, PACKAGE / "engines")})
)
def test_an_objection_to_an_option_has_a_next_command(code: str) -> None:
    assert AFTER[code]


REFUSED = sorted({code_of(call) for _, call in calls({"Refusal"}, PACKAGE / "on_host")} - set(NOT_MET))


def test_the_refusals_of_the_programs_on_a_host_are_found() -> None:
    assert {"already_running", "cannot_start", "will_not_die", "state_folder"} <= set(REFUSED)
    assert {code_of(call) for _, call in calls({"Refusal"}, PACKAGE / "on_host")} >= set(NOT_MET)


@pytest.mark.parametrize("code", [*REFUSED, "host_script", "host_python_old"])
def test_a_refusal_on_the_host_has_a_next_command(code: str) -> None:
    with pytest.raises(DeployError) as raised:
        read_line(
            Program("gpu7", "launch", "python3"), b'{"error": {"code": "%s", "message": "x"}}' % code.encode()
        )
    assert raised.value.code == code
    command = next_after(raised.value)
    assert command
    assert "{" not in command


@pytest.mark.parametrize(
    "code", sorted({code_of(call) for _, call in calls({"DownloadFailure"}, PACKAGE / "on_host")})
)
def test_a_failed_download_has_a_next_command(code: str) -> None:
    source = Source("tiny", "gpu7", "org/model", "/models", "https://huggingface.co", "python3")
    assert next_after(failure(code, "x", source))
