"""One command on several hosts: how many at once, what a failure stops, what is told at the end."""

from __future__ import annotations

import io
import json
import threading
from pathlib import Path

import pytest

from orchestrator.base.errors import HostError
from orchestrator.cli.breadth import Breadth
from orchestrator.cli.main import run
from orchestrator.cli.several import side_by_side
from orchestrator.report.json_lines import JsonLines

NAMES = tuple(f"gpu{number:02}" for number in range(40))


def test_no_more_hosts_are_at_work_than_may_be_and_all_have_their_turn() -> None:
    lock, here, most, seen = threading.Lock(), set[str](), [0], set[str]()

    def work(name: str) -> int:
        with lock:
            here.add(name)
            seen.add(name)
            most[0] = max(most[0], len(here))
        threading.Event().wait(0.001)
        with lock:
            here.discard(name)
        return 0

    out = io.StringIO()
    assert side_by_side(NAMES, "tiny", work, JsonLines(out), as_json=True, breadth=Breadth(5)) == 0
    assert (seen, most[0] <= 5) == (set(NAMES), True)
    *ends, summary = map(json.loads, out.getvalue().splitlines())
    assert {(end["host"], end["instance"]) for end in ends} == {(name, "tiny") for name in NAMES}
    assert summary["text"] == "40 done"


def _bad_is_lost(name: str) -> int:
    if name == "gpu03":
        raise HostError("host_unreachable", f"{name} cannot be reached")
    return 0


@pytest.mark.parametrize(
    ("breadth", "summary"),
    [
        (Breadth(1), "39 done; 1 unreachable: gpu03"),
        (Breadth(1, fail_fast=True), "36 not begun; 3 done; 1 unreachable: gpu03"),
    ],
)
def test_a_failure_stops_no_other_unless_it_is_asked_to(
    breadth: Breadth, summary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = io.StringIO()
    assert side_by_side(NAMES, "tiny", _bad_is_lost, JsonLines(out), as_json=True, breadth=breadth) == 3
    assert json.loads(out.getvalue().splitlines()[-1])["text"] == summary
    assert json.loads(capsys.readouterr().out).items() >= {"host": "gpu03", "instance": "tiny"}.items()


def test_hosts_of_a_file_are_looked_at_in_one_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("local  # this machine\nroot@127.0.0.1:[1-2]\n")
    assert run(["status", "kimi-k2.5", "--hosts", str(hosts), "--parallel", "2"]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "3 hosts: 1 never launched; 2 unreachable"
    assert [line.split()[:2] for line in lines[2:]] == [
        ["root@127.0.0.1:1", "unreachable"],
        ["root@127.0.0.1:2", "unreachable"],
        ["local", "never"],
    ]
    assert run(["status", "kimi-k2.5"]) == 2
    assert "Missing option '--host'" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["status", "history"])
def test_what_only_looks_at_a_host_reads_no_patch(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "broken.yaml").write_text("no patch")
    assert run([verb, "kimi-k2.5", "--host", "local", "--patches", str(tmp_path)]) == 0


@pytest.mark.parametrize("verb", ["status", "plan"])
def test_what_prints_an_object_a_host_ends_with_the_summary_that_all_verbs_have(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    playbook = tmp_path / "tiny.yaml"
    playbook.write_text('{"model": {"repository": "deploy-tests/nothing"}, "context": 256}')
    hosts = ["--host", "gpu1.invalid", "--host", "gpu2.invalid"]
    assert run([verb, str(playbook), *hosts, "--json"]) == 3
    *_, summary = map(json.loads, capsys.readouterr().out.splitlines())
    assert (summary["event"], summary["text"]) == (
        "summary",
        "2 unreachable: gpu1.invalid, gpu2.invalid",
    )
