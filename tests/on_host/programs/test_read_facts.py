"""Several commands asked at once on the host."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.programs import read_facts
from tests.waiting import eventually


def ask(**commands: Any) -> dict[str, Any]:
    return read_facts.main(
        {"commands": {name: {"argv": a, "timeout": t} for name, (a, t) in commands.items()}}
    )


def test_they_run_side_by_side_and_say_bytes(tmp_path: Path) -> None:
    meet = f"cd {tmp_path}; touch $1; until [ -e one ] && [ -e two ]; do sleep 0.01; done; "
    said = "printf 'a\\377b'; echo no >&2; exit 3"
    told = ask(**{name: (["/bin/sh", "-c", meet + said, "sh", name], 20) for name in ("one", "two")})
    assert {(item["rc"], base64.b64decode(item["stdout"])) for item in told.values()} == {(3, b"a\xffb")}
    assert base64.b64decode(told["one"]["stderr"]) == b"no\n"


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    hanging = ["/bin/sh", "-c", f"sleep 60 & echo $! > {note}; wait"]
    told = ask(hang=(hanging, 1.0), quick=(["true"], 20))
    assert told["hang"] == {"timed_out": 1.0, "stdout": ""}
    assert told["quick"]["rc"] == 0
    eventually(lambda: not alive(int(note.read_text())))


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_a_program_that_does_not_exist_and_one_that_cannot_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "plain").write_text("text")
    told = ask(gone=(["~/nope"], 5), plain=(["~/plain"], 5), said=(["printf", "%s", "~/x"], 5))
    assert told["gone"] == {"missing": f"{tmp_path}/nope"}
    assert told["plain"]["refused"].startswith(f"{tmp_path}/plain: ")
    assert base64.b64decode(told["said"]["stdout"]) == f"{tmp_path}/x".encode()
