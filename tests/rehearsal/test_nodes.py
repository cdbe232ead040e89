"""One model on two hosts in boxes: the head answers, the other computes, and neither is left behind."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import main
from orchestrator.on_host.processes import procs
from orchestrator.rehearsal.box import Box
from orchestrator.rehearsal.boxes import Boxes
from tests.waiting import PATIENCE_SECONDS, eventually, running

SMALL = ("--set", "parallel.tensor=2", "--set", "figures.weights_bytes=147000000000")
"""A quarter of the model on a quarter of the cards: more ranks show nothing else."""


class Two:
    """Two boxes, and the commands of a person at them."""

    def __init__(self, boxes: Boxes, capsys: pytest.CaptureFixture[str]) -> None:
        self.boxes = boxes
        self._capsys = capsys

    def deploy(self, verb: str, *options: str, code: int = 0) -> list[dict[str, Any]]:
        """What a command tells as JSON lines; it must end with this code."""
        return self._run(self.boxes.command(verb, *SMALL, "--json", *options)[3:], code)

    def alone(self, number: int, verb: str, *options: str, code: int = 0) -> list[dict[str, Any]]:
        """The same of a command that names one of the hosts alone."""
        head, alias = self.boxes.head, self.boxes.boxes[number].alias
        reach = [
            "--host",
            alias,
            "-F",
            str(self.boxes.ssh_config),
            "--playbooks",
            str(head.playbook_path.parent),
        ]
        return self._run([verb, head.playbook.name, *reach, *SMALL, "--json", *options], code)

    def the_other_way_round(self, verb: str) -> list[dict[str, Any]]:
        """The same with the hosts named in another order."""
        words = self.boxes.command(verb, *SMALL, "--json")[3:]
        first, second = (number for number, word in enumerate(words) if word.startswith("rehearsal-"))
        words[first], words[second] = words[second], words[first]
        return self._run(words, 0)

    def _run(self, words: list[str], code: int) -> list[dict[str, Any]]:
        self._capsys.readouterr()
        ended = main.run(words)
        told = self._capsys.readouterr()
        assert ended == code, told
        return [json.loads(line) for line in told.out.splitlines()]

    def journal(self, number: int) -> list[str]:
        """What was done on a host, without consents."""
        text = (self.boxes.boxes[number].state / "journal.jsonl").read_text()
        records = [json.loads(line) for line in text.splitlines()]
        return [
            f"{record['action']} {record['result']}" if record["action"] == "outcome" else record["action"]
            for record in records
            if record["action"] != "consent"
        ]

    def states(self) -> list[str]:
        (told,) = self.deploy("status")
        return [told["state"], *(host["state"] for host in told["hosts"])]


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Two]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))  # of whoever deploys: a bundle is written there
    with Boxes(pace="fast") as boxes:
        yield Two(boxes, capsys)


def log(box: Box, launch: int) -> str:
    return (box.state / "launches" / str(launch) / "vllm.log").read_text()


def test_what_the_model_cannot_do_is_cured_on_both_and_taken_back_on_both(two: Two) -> None:
    (plan,) = two.deploy("plan", "--no-predict")
    assert [host["node"]["rank"] for host in plan["hosts"]] == [0, 1]
    told = two.deploy("up", "--no-predict")
    fetched = {line["host"]: line for line in told if line.get("step") == "download" and "fetched" in line}
    assert fetched["rehearsal-2"]["given"].keys() == {"rehearsal-1"}, "the Hub was asked once, for both"
    steps = {
        (event["host"], event["step"]): event["text"]
        for event in told
        if event["event"] == "step" and event["state"] == "ok"
    }
    assert steps["rehearsal-1", "launch 2"].endswith("healthy")
    assert steps["rehearsal-2", "launch 2"].endswith("computed its part")
    for number in (0, 1):
        done = two.journal(number)
        assert [action for action in done if "outcome" not in action] == ["launch", "stop", "patch", "launch"]
        assert done[-1] == "outcome healthy"
    head, worker = two.boxes.boxes
    assert "Application startup complete" in log(head, 2)
    assert "rank 2 in world size 4 is assigned" in log(worker, 2)
    assert "Uvicorn" not in log(worker, 2) and "Route:" not in log(worker, 2)
    before = [two.journal(number) for number in (0, 1)]
    two.deploy("up")
    assert [two.journal(number) for number in (0, 1)] == before
    assert two.states() == ["healthy", "healthy", "computing"]
    for verb in (["up"], ["stop"], ["restart"], ["revert"], ["plan"], ["remediate", "--dry-run"]):
        (*_, refused) = two.alone(1, *verb, code=2)
        assert refused["error"]["code"] == "part_of_group"
        assert refused["error"]["next"].endswith("--host rehearsal-1 --host rehearsal-2 --as-one")
    for verb in ("status", "plan"):
        (told,) = two.the_other_way_round(verb)
        roles = [(host["host"], host["role"]) for host in told["hosts"]]
        assert roles == [("rehearsal-1", "head"), ("rehearsal-2", "worker 1")]
    (told,) = two.alone(1, "status")
    assert (told["state"], told["group"]["hosts"]) == ("computing", ["rehearsal-1", "rehearsal-2"])
    last = two.deploy("logs", "-n", "1")
    assert {(line["event"], line["host"]) for line in last} == {
        ("log", "rehearsal-1"),
        ("log", "rehearsal-2"),
    }
    (told,) = two.deploy("logs", "--explain", "--launch", "1", code=6)
    assert (told["finding"]["patch"], [host["part"] for host in told["hosts"]]) == (
        "fp8-kv-mla",
        ["cause", "same"],
    )
    (told,) = two.alone(1, "logs", "--explain")
    assert told["verdict"] != "hang", "it is silent while it computes for the head"
    done = [(record["host"], record["action"]) for record in two.deploy("history")]
    assert done.count(("rehearsal-1", "patch")) == done.count(("rehearsal-2", "patch")) == 1
    two.deploy("restart")
    assert [two.journal(number)[-3:] for number in (0, 1)] == [["stop", "launch", "outcome healthy"]] * 2
    two.alone(1, "stop", "--part")
    (told,) = two.deploy("status")
    assert (told["state"], told["amiss"]) == ("not healthy", ["worker 1 on rehearsal-2: stopped"])
    two.deploy("stop")
    two.deploy("revert")
    assert {told["host"]: len(told["patches"]) for told in two.deploy("diff")} == {
        "rehearsal-1": 2,
        "rehearsal-2": 2,
    }
    for number, box in enumerate(two.boxes.boxes):
        assert two.journal(number)[-2:] == ["stop", "revert"]
        for name in ("config.json", "hf_quant_config.json"):
            assert (box.checkpoint / name).read_bytes() == (two.boxes.head.repository / name).read_bytes()
    what_stands_between_them_is_told_before_anything_is_done(two)


def what_stands_between_them_is_told_before_anything_is_done(two: Two) -> None:
    head, worker = two.boxes.boxes
    told = {check["subject"]: check["verdict"] for check in two.deploy("plan")[0]["between"]}
    assert (told["engine"], told["checkpoint"], told["reach"]) == ("pass", "pass", "pass")
    before = [two.journal(number) for number in (0, 1)]
    torch = Path(__file__).parents[1] / "on_host" / "collectives" / "stand_in"
    doctor = two.deploy("doctor", "--collective", "--env", f"PYTHONPATH={torch}")[-1]
    assert {check["verdict"] for check in doctor["checks"]} == {"pass"}, doctor
    assert doctor["collective"]["ranks"] == 4 and doctor["collective"]["latency_us"] > 100
    config = worker.checkpoint / "config.json"
    config.write_bytes(config.read_bytes().replace(b'"rms_norm_eps": 1e-05', b'"rms_norm_eps": 1e-06', 1))
    error = two.deploy("up", code=4)[-1]["error"]
    assert error["code"] == "files_differ"
    assert "rms_norm_eps 1e-06 on rehearsal-2, 1e-05 on rehearsal-1" in error["message"]
    assert error["next"].startswith("scp -3 rehearsal-1:")
    with socket.create_server(("", int(str(head.playbook.arguments["master-port"])))):
        error = two.deploy("up", "--consent", "differing-files", code=4)[-1]["error"]
    assert error["code"] == "meeting_port_taken"
    assert [two.journal(number) for number in (0, 1)] == before
    two.alone(0, "up")  # what serves alone is not ended because both are to serve
    for verb in ("plan", "up"):
        error = two.deploy(verb, code=4)[-1]["error"]
        assert error["code"] == "serves_otherwise"
    assert error["next"].startswith("deploy restart kimi-k2.5 --host rehearsal-1 --host rehearsal-2 --as-one")


def living(box: Box, title: str) -> list[procs.Process]:
    """The processes of this host whose titles begin so."""
    mark = f"HOME={box.home}".encode()
    return [
        process
        for pid, process in procs.processes().items()
        if process.alive
        and procs.read_bytes(f"/proc/{pid}/comm").startswith(title.encode())
        and mark in procs.read_bytes(f"/proc/{pid}/environ").split(b"\0")
    ]


def kill(box: Box, title: str) -> None:
    for process in living(box, title):
        procs.send(process, signal.SIGKILL)
    eventually(lambda: not living(box, title))


@pytest.mark.thorough
def test_an_interrupt_leaves_both_and_the_death_of_one_has_all_started_anew(two: Two) -> None:
    head, worker = two.boxes.boxes
    launched = [box.state / "launches" / "1" / "process.json" for box in (head, worker)]
    head.server.environment["STAND_IN_PACE"] = "0.3"
    with running(two.boxes.command("up", *SMALL), stdout=subprocess.DEVNULL) as first:
        eventually(lambda: all(record.exists() for record in launched))
        first.send_signal(signal.SIGINT)
        assert first.wait(PATIENCE_SECONDS) == 130
    head.server.environment["STAND_IN_PACE"] = "0.01"
    two.deploy("up")
    assert [two.journal(number)[-2:] for number in (0, 1)] == [["launch", "outcome healthy"]] * 2

    kill(worker, "VLLM::Worker")  # /health of the head stays well until somebody asks for a completion
    two.deploy("up")
    again = ["stop", "launch", "outcome healthy"]
    assert [two.journal(number)[-3:] for number in (0, 1)] == [again] * 2
    assert "outcome failed" in [*two.journal(0), *two.journal(1)]

    old = living(worker, "VLLM::Worker")
    kill(head, "python3")  # its ranks and those of the worker live on, and never meet new ones
    assert living(head, "VLLM::EngineCor") and living(head, "VLLM::Worker")
    two.deploy("up")
    assert two.journal(0)[-4:] == ["outcome failed", *again]
    assert two.journal(1)[-3:] == again
    assert not {process.pid for process in old} & {each.pid for each in living(worker, "VLLM::Worker")}
    assert [two.journal(number).count("launch") for number in (0, 1)] == [3, 3]


@pytest.mark.thorough
def test_ray_is_part_of_the_launch_where_it_starts_the_ranks(two: Two) -> None:
    through = ("--set", "parallel.through=ray", "--consent", "listen-openly")
    two.deploy("up", *through)
    head, worker = two.boxes.boxes
    before, _, server = log(head, 1).partition("2 hosts have joined Ray at ")
    assert "Ray runtime started" in before and "Application startup complete" in server
    assert log(worker, 1).endswith("Ray runtime started.\n")
    rooms = [box.state / "launches" / "1" / "ray" for box in (head, worker)]
    assert all(room.is_dir() for room in rooms)
    two.deploy("restart", *through)
    assert [two.journal(number)[-3:] for number in (0, 1)] == [["stop", "launch", "outcome healthy"]] * 2
    assert log(worker, 2).endswith("Ray runtime started.\n")
    kill(worker, "python3")  # its node of Ray; the head's ranks live on, and a new node is none of theirs
    for verb in ("up", "restart"):
        (*_, refused) = two.alone(1, verb, code=2)
        assert refused["error"]["code"] == "part_of_group"
    two.deploy("up", *through)
    assert [two.journal(number)[-3:] for number in (0, 1)] == [["stop", "launch", "outcome healthy"]] * 2
    two.deploy("stop")
    assert {*two.states()} == {"stopped"}
    assert not any(room.exists() for room in (*rooms, *(room.parents[1] / "2" / "ray" for room in rooms)))


@pytest.mark.thorough
def test_a_host_that_vanishes_ends_the_others_and_the_same_command_resumes(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, worker = two.boxes.boxes
    launched = worker.state / "launches" / "1" / "process.json"
    bf16 = ("--set", "arguments.kv-cache-dtype=bfloat16")
    head.server.environment["STAND_IN_PACE"] = "1"
    with monkeypatch.context() as meanwhile:

        def vanish() -> None:
            eventually(launched.exists)
            meanwhile.setattr(worker.server, "_greet", lambda connection: connection.close())
            for transport in worker.server._transports:
                transport.close()

        power = threading.Thread(target=vanish)
        power.start()
        (*_, left) = two.deploy("up", *bf16, code=3)
        power.join()
    assert left["error"]["code"] == "host_vanished", left
    assert left["error"]["message"].startswith("worker 1 on rehearsal-2 does not answer any more")
    assert two.journal(0)[-1] == "stop"
    head.server.environment["STAND_IN_PACE"] = "0.01"
    two.deploy("up", *bf16)
    for number in (0, 1):
        assert two.journal(number)[-4:] == ["launch", "stop", "launch", "outcome healthy"]
    assert two.states() == ["healthy", "healthy", "computing"]
