"""`deploy rehearse`: the whole story, every fault, and a host that is kept; nothing of it is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host import procs
from orchestrator.rehearsal import faults

FAST_SECONDS = 5.0
"""The bar for the fast profile on a machine that does nothing else."""


@dataclass(frozen=True)
class Rehearsed:
    code: int
    events: list[dict[str, Any]]
    err: str
    seconds: float

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == kind]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The caller's own, with a Hub and a proxy that lead nowhere."""
    (tmp_path / "tmp").mkdir()
    nowhere = "http://127.0.0.1:9"
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path / "tmp"),
        "HF_ENDPOINT": nowhere,
        "HF_TOKEN": "hf_secret",
        "HF_HUB_OFFLINE": "1",
        "https_proxy": nowhere,
        "HTTP_PROXY": nowhere,
        "ALL_PROXY": nowhere,
    }


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path, environment: dict[str, str]) -> Iterator[None]:
    """No process with a home in the box, no folder, no shared memory that names it."""
    yield
    assert list((tmp_path / "tmp").iterdir()) == []
    mark = str(tmp_path / "tmp").encode()
    alive = [
        one
        for pid, one in procs.processes().items()
        if one.alive and mark in procs.read_bytes(f"/proc/{pid}/environ")
    ]
    assert alive == []
    assert [path for path in Path("/dev/shm").glob("psm_*") if holds(path, mark)] == []


def holds(path: Path, mark: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return mark in file.read(4096)
    except OSError:
        return False


def argv(*options: str) -> list[str]:
    return [sys.executable, "-m", "orchestrator.cli.main", "rehearse", *options]


def rehearse(environment: dict[str, str], *options: str) -> Rehearsed:
    began = time.monotonic()
    done = subprocess.run(
        argv("kimi-k2.5", "--fast", "--json", *options),
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    return Rehearsed(done.returncode, events, done.stderr, time.monotonic() - began)


def test_the_story(environment: dict[str, str]) -> None:
    done = rehearse(environment)
    assert done.code == 0, done.events[-3:] or done.err
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
    ended = {event["step"]: event for event in done.of("step") if "seconds" in event}
    assert ended["download"]["fetched"] == ended["download"]["files"] > 16
    assert ended["verify"]["shards"] == 16
    assert len(ended["clean"]["ended"]) == 2  # orphans
    assert ended["clean"]["gpu"]["returned"]
    assert ended["launch 1"]["state"] == "failed"
    assert ended["launch 2"]["state"] == "ok"
    (result,) = done.of("result")
    assert result["healthy"] and result["changed"]
    assert done.seconds < 3 * FAST_SECONDS  # other tests run beside this one


@pytest.mark.parametrize("name", faults.load())
def test_every_fault_ends_as_it_should(environment: dict[str, str], name: str) -> None:
    done = rehearse(environment, "--fault", name)
    fault = faults.load()[name]
    assert done.code == fault.exit, done.events[-3:] or done.err
    assert fault.title in " ".join(done.events[0]["text"].split())
    check = globals().get(f"check_{name.replace('-', '_')}")
    if check is not None:
        check(done)


def message(done: Rehearsed) -> str:
    (error,) = done.of("error")
    return str(error["error"]["message"])


def code(done: Rehearsed) -> str:
    (error,) = done.of("error")
    return str(error["error"]["code"])


def check_stubborn(done: Rehearsed) -> None:
    assert code(done) == "no_remedy_left"
    assert done.of("finding")[0]["patch"] == "fp8-kv-mla"


def check_unknown(done: Rehearsed) -> None:
    assert "LedgerTornError: page 4 of the ledger is torn" in message(done)


def check_shm_full(done: Rehearsed) -> None:
    assert "NCCL" in message(done)


def check_kv_cache_too_small(done: Rehearsed) -> None:
    assert "estimated maximum model length is 47056" in message(done)
    assert done.of("finding")[0]["patch"] == "fp8-kv-mla"


def check_first_request(done: Rehearsed) -> None:
    assert "illegal memory access" in message(done)


def check_hang(done: Rehearsed) -> None:
    assert code(done) == "not_ready"


def check_gated(done: Rehearsed) -> None:
    assert code(done) == "hub_gated"


def check_disk_full(done: Rehearsed) -> None:
    assert code(done) == "disk_full"


def check_corrupt_shard(done: Rehearsed) -> None:
    assert "model-00007-of-00016.safetensors: lacks the tensor" in message(done)


def check_missing_shard(done: Rehearsed) -> None:
    assert "model-00007-of-00016.safetensors: missing" in message(done)


def check_damaged_on_disk(done: Rehearsed) -> None:
    ended = [event for event in done.of("step") if "seconds" in event]
    broken, whole = (event for event in ended if event["step"] == "verify")
    assert [one["file"] for one in broken["bad"]] == ["model-00007-of-00016.safetensors"]
    assert whole["whole"]
    assert [event["fetched"] for event in ended if event["step"] == "download"] == [1]


def check_port_taken(done: Rehearsed) -> None:
    assert code(done) == "port_taken"
    assert "python3" in message(done)


def check_no_engine(done: Rehearsed) -> None:
    assert code(done) == "no_engine"


def check_few_gpus(done: Rehearsed) -> None:
    assert "has 4 GPUs" in message(done)


def check_changed_host_key(done: Rehearsed) -> None:
    assert code(done) == "host_key_changed"


def test_the_faults_are_listed(environment: dict[str, str]) -> None:
    left = subprocess.run(
        argv("x", "--fault", "list"), env=environment, capture_output=True, text=True, check=True
    )
    assert [line.split()[0] for line in left.stdout.splitlines()] == list(faults.load())


def test_an_unknown_fault_is_a_wrong_command(environment: dict[str, str]) -> None:
    done = rehearse(environment, "--fault", "nonsense")
    assert (done.code, code(done)) == (2, "unknown_fault")


def test_a_kept_host_answers_other_commands_until_it_is_interrupted(environment: dict[str, str]) -> None:
    with subprocess.Popen(
        argv("kimi-k2.5", "--fast", "--json", "--keep"), env=environment, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        kept = next(event for line in first.stdout if "reach" in (event := json.loads(line)))
        words = ["-m", "orchestrator.cli.main", "status", "kimi-k2.5", *kept["reach"], "--json"]
        status = subprocess.run(
            [sys.executable, *words], env=environment, capture_output=True, text=True, check=True
        )
        state = json.loads(status.stdout)
        assert (state["state"], state["patches"][0]["patch"]) == ("healthy", "fp8-kv-mla")
        assert len(state["members"]) >= 10
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=30)
    assert first.returncode == 0
    assert not Path(kept["ssh_config"]).exists()
    assert not any(one["pid"] in procs.processes() for one in state["members"] if lives(one["pid"]))


def lives(pid: int) -> bool:
    one = procs.process(pid)
    return one is not None and one.alive


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_the_middle_takes_everything_down(
    environment: dict[str, str], number: signal.Signals
) -> None:
    with subprocess.Popen(
        argv("kimi-k2.5", "--fast", "--json", "--fault", "hang"),
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as first:
        assert first.stdout is not None
        for line in first.stdout:
            if json.loads(line)["step"] == "launch 1":
                break
        first.send_signal(number)
        first.communicate(timeout=30)
    assert first.returncode == 130
