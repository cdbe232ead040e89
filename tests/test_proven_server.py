"""A server that was up is not ended on suspicion: neither slowness nor anything that stands in its log is enough."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.launch import vigil
from orchestrator.launch.server import Server
from orchestrator.on_host.kinds import launches
from orchestrator.on_host.kinds.kind import Launch
from orchestrator.on_host.processes import procs
from orchestrator.programs.smoke import Completion
from tests.deploy import Left
from tests.deployments import Case
from tests.diagnosis.labels import log, named
from tests.hub import Hub
from tests.sshd import Settings, Sshd, end_sshd, launch_sshd
from tests.stand_in import StandIn
from tests.waiting import eventually

FORGED = log(named("mla-fp8kv-kimi-k25-tp8"))
"""What a client had somebody's middleware print: a whole launch that fails, record for record. Nothing in it gives it away."""
STARTED = log(named("own-healthy-tp2"))

UP = b"INFO:     Application startup complete.\n"


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Minutes are seconds here."""
    monkeypatch.setattr(vigil, "COMPLETION_SECONDS", 0.4)
    monkeypatch.setattr(vigil, "PAUSE_SECONDS", 0.1)


@pytest.fixture(scope="module")
def deployed(
    server: Sshd, engine: StandIn, repositories: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Case]:
    with Hub(repositories) as hub:
        case = Case("proven", server, engine, hub, tmp_path_factory.mktemp("proven"))
        yield case


@pytest.fixture
def healthy(deployed: Case) -> Case:
    """A deployment from which a completion came out, and in whose log clients have written since."""
    left = deployed.deploy("PLAYBOOK")
    assert left.code == 0, left.out + left.err
    log_of(deployed).write_bytes(FORGED)
    return deployed


@pytest.fixture
def stopped(healthy: Case) -> Iterator[int]:
    """The pid of its API server, which stands still (SIGSTOP) until somebody lets it go on."""
    pid = int(status(healthy)["listener"]["pid"])
    os.kill(pid, signal.SIGSTOP)
    yield pid
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def status(case: Case) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(case.deploy("status", "PLAYBOOK", "--json").out)
    return value


def launch_of(case: Case) -> Launch:
    """Its living launch; `status` would wait for the server to answer."""
    launch = launches.choose(case.state, None, launches.table())
    assert launch is not None
    return launch


def log_of(case: Case) -> Path:
    return launch_of(case).log


def pids(case: Case) -> list[int]:
    return [member.pid for member in launches.members(launch_of(case), launches.table())]


def meanwhile(case: Case, verb: str, act: Callable[[], None], *options: str) -> Left:
    """What a verb came to; `act` is done as soon as a completion that it asked for did not come."""
    again = threading.Event()
    complete = Server.complete

    def asked(self: Server, *place: Any, **more: Any) -> Completion:
        answer = complete(self, *place, **more)
        again.set()
        return answer

    def acting() -> None:
        assert again.wait(60)
        act()

    thread = threading.Thread(target=acting)
    thread.start()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Server, "complete", asked)
        left = case.deploy(*([] if verb == "up" else [verb]), "PLAYBOOK", *options, "--json")
    thread.join()
    return left


@pytest.mark.parametrize("verb", ["up", "remediate"])
def test_a_server_that_stands_still_for_a_while_is_waited_for(healthy: Case, stopped: int, verb: str) -> None:
    before, done = pids(healthy), healthy.actions()
    left = meanwhile(healthy, verb, lambda: os.kill(stopped, signal.SIGCONT))
    assert left.code == 0, left.out + left.err
    (result,) = left.of("result")
    assert (result["healthy"], result["changed"]) == (True, False)
    assert (pids(healthy), healthy.actions()) == (before, done)
    (warning,) = [record for record in left.of("warning") if "does not answer" in record["text"]]
    assert "Nothing is ended unless 3 completions fail over 3m00s" in warning["text"]
    assert [event["error"] for event in left.of("progress") if event["step"] == "answer"]


def test_a_launch_that_no_run_saw_become_healthy_is_spared_as_well(healthy: Case, stopped: int) -> None:
    """Its deployer was killed while it started; it may have served for days since, and the log be anybody's."""
    journal = healthy.state / "journal.jsonl"
    journal.write_text(
        "".join(line for line in journal.read_text().splitlines(True) if "healthy" not in line)
    )
    log_of(healthy).write_bytes(UP + FORGED)
    before, done = pids(healthy), healthy.actions()
    left = meanwhile(healthy, "up", lambda: os.kill(stopped, signal.SIGCONT), "--timeout", "1")
    assert left.code == 0, left.out + left.err
    assert (pids(healthy), healthy.actions()) == (before, [*done, "outcome"])


def test_a_server_whose_supervisor_was_killed_goes_on_serving(healthy: Case, stopped: int) -> None:
    process = procs.process(stopped)
    assert process is not None
    os.kill(process.parent, signal.SIGKILL)
    eventually(lambda: procs.process(process.parent) is None)
    before, done = pids(healthy), healthy.actions()
    left = meanwhile(healthy, "up", lambda: os.kill(stopped, signal.SIGCONT))
    assert left.code == 0, left.out + left.err
    assert (pids(healthy), healthy.actions()) == (before, done)
    healthy.deploy("stop", "PLAYBOOK")  # the next test gets a launch whose end somebody records


LATE = Completion(
    ok=False, status=None, text=None, tokens=0, seconds=60.0, tokens_per_second=None,
    error="no completion came within 60 s", late=True, context=None, made_before=None, made_after=None,
)  # fmt: skip
NOT_FOR_US = [
    ("up", {"made_before": 5, "made_after": 1205}, 8, "server_busy", "makes tokens for others (1,200"),
    ("remediate", {"status": 401, "late": False}, 4, "no_key", "asks for its API key"),
    ("remediate", {"status": 429, "late": False, "error": "slow down"}, 8, "server_refuses", "slow down"),
]  # fmt: skip


@pytest.mark.parametrize(("verb", "answer", "code", "name", "text"), NOT_FOR_US)
def test_a_server_that_only_we_get_nothing_from_is_let_be(
    healthy: Case,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    answer: dict[str, Any],
    code: int,
    name: str,
    text: str,
) -> None:
    monkeypatch.setattr(Server, "complete", lambda self, place, **more: LATE.model_copy(update=answer))
    monkeypatch.setattr(vigil, "SECONDS", 0.1)
    before, journal = pids(healthy), healthy.journal()
    left = healthy.deploy(*([] if verb == "up" else [verb]), "PLAYBOOK", "--json")
    assert left.code == code, left.out + left.err
    (error,) = left.of("error")
    assert error["error"]["code"] == name
    assert text in error["error"]["message"]
    assert (pids(healthy), healthy.journal()) == (before, journal)


def test_a_server_that_answers_nobody_for_minutes_is_told_and_left(
    healthy: Case, stopped: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a known cause nothing is done about it."""
    log_of(healthy).write_bytes(UP)
    monkeypatch.setattr(vigil, "SECONDS", 1.0)
    before = pids(healthy)
    left = healthy.deploy("PLAYBOOK", "--json")
    assert left.code == 8, left.out + left.err
    (error,) = left.of("error")
    assert error["error"]["code"] == "no_completion"
    assert "it was up, and 3 completions over" in error["error"]["message"]
    assert error["error"]["next"].startswith("deploy restart ")
    assert pids(healthy) == before
    assert healthy.journal()[-1]["result"] == "hang"


def test_a_server_that_is_killed_while_it_is_waited_for_is_started_again(healthy: Case, stopped: int) -> None:
    """Without a remedy: what clients wrote into its log did not end it."""
    before = len(healthy.journal())
    left = meanwhile(healthy, "up", lambda: os.kill(stopped, signal.SIGKILL))
    assert left.code == 0, left.out + left.err
    assert [record["action"] for record in healthy.journal()[before:]] == [
        "outcome",
        "stop",
        "launch",
        "outcome",
    ]
    eventually(lambda: procs.process(stopped) is None)  # whoever reaps it takes its time
    assert status(healthy)["state"] == "healthy"


@pytest.mark.parametrize("log", [FORGED, STARTED + FORGED], ids=["rotated", "whole"])
def test_the_start_of_a_server_that_was_proven_explains_no_end_of_it(healthy: Case, log: bytes) -> None:
    launch = launch_of(healthy)
    done, config = healthy.actions(), healthy.config()
    launch.log.write_bytes(log)
    members = launches.members(launch, launches.table())
    engine = next(member.pid for member in members if "EngineCor" in procs.name(member))
    os.kill(engine, signal.SIGKILL)
    eventually(lambda: launch.exit_code() == 1)
    left = healthy.deploy("PLAYBOOK", "--json")
    assert left.code == 0, left.out + left.err
    assert not left.of("finding")
    assert healthy.actions() == [*done, "outcome", "stop", "launch", "outcome"]
    assert healthy.config() == config


def test_a_server_that_asks_for_a_key_of_the_host_is_told_at_once(
    engine: StandIn, repositories: Path, tmp_path: Path
) -> None:
    """The environment in which the host starts programs sets one that the playbook does not know."""
    key = "sk-of-the-host-1234567890"
    server = launch_sshd(Settings(environment={"PATH": engine.path, "VLLM_API_KEY": key}))
    with Hub(repositories) as hub:
        case = Case("keyed", server, engine, hub, tmp_path)
        left = case.deploy("PLAYBOOK", "--json")
        assert left.code == 4, left.out + left.err
        (error,) = left.of("error")
        assert error["error"]["code"] == "no_key"
        assert error["error"]["next"].endswith("--env VLLM_API_KEY")
        assert case.actions()[-1] == "launch"
        case.deploy.environment = {"VLLM_API_KEY": key}
        known = case.deploy("PLAYBOOK", "--env", "VLLM_API_KEY", "--json")
        assert known.code == 0, known.out + known.err
        assert not known.of("result")[0]["changed"]
        case.deploy("stop", "PLAYBOOK")
    end_sshd(server)
