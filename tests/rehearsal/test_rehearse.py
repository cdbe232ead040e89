"""`deploy rehearse`: the whole story, every fault, and a host that is kept; nothing of it is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import main
from orchestrator.launch import progress
from orchestrator.on_host.processes import procs
from orchestrator.rehearsal import faults
from tests.waiting import PATIENCE_SECONDS, running


@dataclass(frozen=True)
class Rehearsed:
    code: int
    events: list[dict[str, Any]]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == kind]

    @property
    def error(self) -> dict[str, Any]:
        (event,) = self.of("error")
        error: dict[str, Any] = event["error"]
        return error

    @property
    def ended(self) -> dict[str, dict[str, Any]]:
        """The last end of each step."""
        return {event["step"]: event for event in self.of("step") if "seconds" in event}


Rehearse = Callable[..., Rehearsed]


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[Path]:
    """Where boxes are built; in the end no folder, no process and no shared memory of them is left."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    yield folder
    assert list(folder.iterdir()) == []
    mark = f"HOME={folder}".encode()
    environments = {pid: procs.read_bytes(f"/proc/{pid}/environ") for pid in procs.processes()}
    assert [pid for pid, text in environments.items() if mark in text] == []
    assert [path for path in Path("/dev/shm").iterdir() if begins(path, str(folder).encode())] == []


def begins(path: Path, mark: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(mark)) == mark
    except OSError:
        return False


@pytest.fixture
def environment(tmp_path: Path, temporary: Path) -> dict[str, str]:
    """A caller's, with a Hub and proxies that lead nowhere."""
    nowhere = "http://127.0.0.1:9"
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "HOME": str(tmp_path),
        "TMPDIR": str(temporary),
        "HF_ENDPOINT": nowhere,
        "HF_TOKEN": "hf_secret",
        "HF_HUB_OFFLINE": "1",
        "https_proxy": nowhere,
        "HTTP_PROXY": nowhere,
        "ALL_PROXY": nowhere,
    }


@pytest.fixture
def rehearse(
    environment: dict[str, str],
    temporary: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Rehearse]:
    """`deploy rehearse kimi-k2.5 --fast --json` in this process."""
    monkeypatch.setattr(
        progress, "LINGER_SECONDS", 60.0
    )  # an engine that fails ends by itself, if not so soon
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def run(*options: str) -> Rehearsed:
        code = main.run(["rehearse", "kimi-k2.5", "--fast", "--json", *options])
        return Rehearsed(code, [json.loads(line) for line in capsys.readouterr().out.splitlines()])

    yield run
    os.environ.clear()
    os.environ.update(before)


def argv(*options: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "orchestrator.cli.main",
        "rehearse",
        "kimi-k2.5",
        "--fast",
        "--json",
        *options,
    ]


def check_the_story(done: Rehearsed) -> None:
    first = done.events[0]
    assert set(first["stand_ins"]) == {"host", "hub", "cards", "engine"}
    assert "--no-predict" in first["text"]
    (plan,) = done.of("plan")
    assert [one["patch"] for one in plan["predictions"]] == ["fp8-kv-mla"]
    assert plan["predictions"][0]["action"].startswith("skipped")
    (finding,) = done.of("finding")
    root = finding["diagnosis"]["root_cause"]
    assert (finding["patch"], root["process"], root["exception"]) == (
        "fp8-kv-mla",
        "Worker_TP4",
        "ValueError",
    )
    assert len(finding["diagnosis"]["folded"]["processes"]) == 7
    ended = done.ended
    assert ended["download"]["fetched"] == ended["download"]["files"] > 16
    assert ended["verify"]["shards"] == 16
    # a busy machine may need more than the two seconds that an engine which failed is left to end by itself
    by_itself = "did not end by itself" not in ended["launch 1"]["text"]
    orphans = [one["name"] for one in ended["clean"]["ended"] if one["name"].startswith("VLLM::Worker")]
    assert len(orphans) == len(ended["clean"]["ended"]) == 2 if by_itself else len(orphans) >= 2
    assert ended["clean"]["gpu"]["returned"]
    assert ended["launch 1"]["state"] == "failed"
    assert ended["launch 2"]["state"] == "ok"
    (result,) = done.of("result")
    assert result["healthy"] and result["changed"]


TOLD = {
    "stubborn": "no_remedy_left",
    "unknown": "LedgerTornError: page 4 of the ledger is torn",
    "shm-full": "NCCL finds no room in /dev/shm",
    "gpu-busy": "holds 680,544 MiB on 8 GPUs. It is not ours, so it stays",
    "gpu-taken": "holds 680,544 MiB on 8 GPUs. It is not ours, so it stays",
    "oom-killed": "The host's memory ran out",
    "first-request": "A kernel touched memory that is not its own",
    "hang": "not_ready",
    "gated": "hub_gated",
    "hub-down": "hub_unreachable",
    "disk-full": "disk_full",
    "corrupt-shard": "model-00007-of-00016.safetensors: lacks the tensor",
    "missing-shard": "model-00007-of-00016.safetensors: missing",
    "port-taken": "port_taken",
    "no-engine": "no_engine",
    "few-gpus": "has 4 GPUs",
    "changed-host-key": "host_key_changed",
}
"""What the error of each fault says, in its sentence or by its code."""

ALIVE = {"stubborn": 2, "unknown": 2, "shm-full": 2, "oom-killed": 7}
"""So many processes of the launch live when the command leaves, which names them all."""


SLOW = ("gpu-taken", "oom-killed", "first-request")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.thorough if name in SLOW else ())
        for name, fault in faults.load().items()
        if fault.exit and fault.mode == "one"
    ],
)
def test_every_fault_ends_as_it_should(rehearse: Rehearse, name: str) -> None:
    done = rehearse("--fault", name)
    fault = faults.load()[name]
    assert done.code == fault.exit, done.events[-3:]
    assert fault.title in " ".join(done.events[0]["text"].split())
    assert TOLD[name] in f"{done.error['code']} {done.error['message']}"
    left = done.of("error")[0].get("left", {"processes": [], "cards": {}, "stop": "deploy stop"})
    alive = len(left["processes"])
    # what has begun when the time for it is over depends on the machine
    assert 1 <= alive <= 10 if name == "hang" else alive == ALIVE.get(name, 0), left
    assert sum(left["cards"].values()) == sum(one["gpu_mib"] or 0 for one in left["processes"])
    assert left["stop"].startswith("deploy stop")
    if name == "gpu-taken":
        panel = done.of("finding")[-1]["panel"]
        assert "holds 680,544 MiB" in panel["host"] and "none: " in panel["remedy"]
        assert "launch 2" not in done.ended  # it would only be refused again
    if name == "oom-killed":
        panel = done.of("finding")[-1]["panel"]
        assert panel["cause"].startswith("the kernel's log: Out of memory: Killed process ")
        assert panel["where"].startswith("Worker_TP0, launch 2, ")


def test_a_shard_that_is_damaged_on_the_host_is_fetched_again_alone(rehearse: Rehearse) -> None:
    done = rehearse("--fault", "damaged-on-disk")
    assert done.code == 0, done.events[-3:]
    ended = [event for event in done.of("step") if "seconds" in event]
    broken, whole = (event for event in ended if event["step"] == "verify")
    assert [one["file"] for one in broken["bad"]] == ["model-00007-of-00016.safetensors"]
    assert whole["whole"]
    assert [event["fetched"] for event in ended if event["step"] == "download"] == [1]


def test_a_context_that_does_not_fit_shrinks(rehearse: Rehearse) -> None:
    done = rehearse("--fault", "kv-cache-too-small")
    assert done.code == 0, done.events[-3:]
    patches = [event["patch"] for event in done.of("step") if event["step"] == "patch" and "patch" in event]
    assert patches == ["fp8-kv-mla", "kv-cache-below-max-model-len"]
    (result,) = done.of("result")
    assert (result["context"], result["asked_context"]) == (46112, 131072)
    assert result["text"].splitlines()[1] == "  context 46112 (asked 131072)"


@pytest.mark.parametrize(
    ("options", "mode"), [([], "one"), (["--nodes", "2"], "nodes"), (["--fleet", "3"], "fleet")]
)
def test_the_faults_of_what_is_rehearsed_are_listed(
    options: list[str], mode: faults.Mode, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["rehearse", "--fault", "list", *options]) == 0
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert [line.split()[0] for line in lines if line[0] != " "] == list(faults.of(mode))
    assert max(map(len, lines)) <= 80
    assert told.err.count("--fault list") == 2


@pytest.mark.parametrize(
    ("options", "onward"),
    [
        (["--fault", "nonsense"], "deploy rehearse --fault list"),
        (["--nodes", "2", "--fault", "nonsense"], "deploy rehearse --nodes=2 --fault list"),
        (["--fault", "rank-dies"], "deploy rehearse kimi-k2.5 --nodes=2 --fault rank-dies"),
        (["--nodes", "2", "--fault", "bad-change"], "deploy rehearse kimi-k2.5 --fleet=3 --fault bad-change"),
        (["--fleet", "3", "--fault", "shm-full"], "deploy rehearse kimi-k2.5 --fault shm-full"),
    ],
)
def test_a_fault_of_another_rehearsal_is_a_wrong_command(
    rehearse: Rehearse, options: list[str], onward: str
) -> None:
    done = rehearse(*options)
    assert (done.code, done.error["code"], done.error["next"]) == (2, "unknown_fault", onward)


def test_two_rehearsals_are_not_one(rehearse: Rehearse) -> None:
    assert rehearse("--nodes", "2", "--fleet", "2").error["code"] == "invalid_option"


@pytest.mark.thorough
@pytest.mark.parametrize("name", faults.of("fleet"))
def test_every_fault_of_a_fleet_ends_as_it_should(rehearse: Rehearse, name: str) -> None:
    done = rehearse("--fleet", "3", "--fault", name)
    assert done.code == faults.load()[name].exit, done.events[-3:]
    assert faults.load()[name].title in " ".join(done.events[0]["text"].split())
    # what healed the first is in force on the others before they fail
    findings = [(event["instance"], event["patch"]) for event in done.of("finding")]
    assert findings[0] == ("kimi-k2.5-1", "fp8-kv-mla")
    assert ("kimi-k2.5-2", "fp8-kv-mla") not in findings
    states = [event for event in done.of("note") if "replicas" in event]
    launches = {each["name"]: each["launch"] for each in states[-1]["replicas"]}
    lost = [event["lost"] for event in done.of("note") if "lost" in event]
    if name == "broken-card":
        ends = [each["state"].partition(",")[0] for each in states[-1]["replicas"]]
        assert ends == ["healthy", "dead", "healthy"]
        assert "--name kimi-k2.5-2" in done.of("error")[0]["left"]["stop"]
        assert done.error["message"].endswith("A GPU failed. What a person can do is told with the finding")
        return
    assert states[-1]["state"] == "healthy"
    if name == "bad-change":
        assert launches == {"kimi-k2.5-1": 4, "kimi-k2.5-2": 1, "kimi-k2.5-3": 1}
        assert lost == [[]]
        return
    # the one that died has been started anew, and no other
    assert launches == {"kimi-k2.5-1": 2, "kimi-k2.5-2": 2, "kimi-k2.5-3": 1}
    assert states[0]["state"] == "degraded"
    assert all("cut off" in reason for reason in lost[0]), lost
    assert len(lost[0]) <= 3  # the streams that there are
    if name == "replica-killed":
        (since,) = (at for at, event in enumerate(done.events) if "kill -9" in event.get("text", ""))
        steps = [event for event in done.events[since:] if event["event"] == "step" and "seconds" in event]
        assert {event["instance"] for event in steps} == {"kimi-k2.5-2", "kimi-k2.5-router"}
        (ended,) = (event for event in steps if event["step"] == "launch 1")
        assert ended["text"] == "the engine was ended by SIGKILL"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "other-version" else pytest.mark.thorough)
        for name in faults.of("nodes")
    ],
)
def test_every_fault_of_several_hosts_ends_as_it_should(rehearse: Rehearse, name: str) -> None:
    done = rehearse("--nodes", "2", "--fault", name)
    fault = faults.load()[name]
    assert done.code == fault.exit, done.events[-3:]
    assert fault.title in " ".join(done.events[0]["text"].split())
    if name == "other-version":  # told before there is a plan to be shown
        assert "vllm 0.16.0 on rehearsal-1, vllm 0.15.1 on rehearsal-2" in done.error["message"]
    else:
        (plan,) = done.of("plan")  # one of both hosts
        assert all(name in plan["text"] for name in ("rehearsal-1", "rehearsal-2"))
    if name == "other-config":
        assert "rms_norm_eps 1e-06 on rehearsal-2, 1e-05 on rehearsal-1" in done.error["message"]
    if name == "rank-dies":
        assert done.error["message"].startswith("worker 1 on rehearsal-2: ")
    if name == "host-lost":
        assert (done.error["code"], "rehearsal-2" in done.error["message"]) == ("host_vanished", True)
    if name.startswith("firewall"):
        (found,) = done.of("finding")
        assert "rehearsal-1 and rehearsal-2 do not reach each other" in " ".join(found["text"].split())
    if name == "firewall-dropped":
        assert done.error["message"].endswith("rehearsal-1 and rehearsal-2 do not reach each other")


def test_the_story_on_a_host_that_is_kept_until_it_is_interrupted(environment: dict[str, str]) -> None:
    with running(argv("--keep"), env=environment, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        events: list[dict[str, Any]] = []
        while "reach" not in (events[-1] if events else {}):
            events.append(json.loads(first.stdout.readline()))
        check_the_story(Rehearsed(0, events))
        kept = events[-1]
        words = ["-m", "orchestrator.cli.main", "status", "kimi-k2.5", *kept["reach"], "--json"]
        asked = subprocess.run(
            [sys.executable, *words], env=environment, capture_output=True, text=True, check=True
        )
        state = json.loads(asked.stdout)
        assert (state["state"], state["patches"][0]["patch"]) == ("healthy", "fp8-kv-mla")
        assert len(state["members"]) >= 10
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=PATIENCE_SECONDS)
    assert first.returncode == 0
    assert not any(lives(one["pid"]) for one in state["members"])


def lives(pid: int) -> bool:
    one = procs.process(pid)
    return one is not None and one.alive


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_in_the_middle_takes_everything_down(
    environment: dict[str, str], number: signal.Signals
) -> None:
    with running(argv("--fault", "hang"), env=environment, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        for line in first.stdout:
            if json.loads(line)["step"] == "launch 1":
                break
        first.send_signal(number)
        first.communicate(timeout=PATIENCE_SECONDS)
    assert first.returncode == 130
