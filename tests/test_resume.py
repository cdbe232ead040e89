"""The same command, after its first run was ended at the start, middle or end of a step, picks up where the host is."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from orchestrator.engines.vllm.footprint import FOOTPRINT
from orchestrator.on_host.kinds import launches
from orchestrator.on_host.programs import stop
from orchestrator.programs.journal import read
from orchestrator.survey.journal import fold
from tests import stand_in
from tests.deployments import REPOSITORY, Case, original
from tests.hub import Hub
from tests.sshd import Settings, Sshd, end_sshd, launch_sshd
from tests.strikes import NOT_STARTED, PATCHED, REPAIRED, SECOND_FILE, STRIKES, TAKEN_BACK, Strike
from tests.striking import Pauses, Reached, Run, Told
from tests.waiting import PATIENCE_SECONDS, eventually

CONFIGS = ("config.json", "hf_quant_config.json")
USUAL = {"kill": -signal.SIGKILL, "closed": 3, "interrupt": 130}
"""Exit codes of a struck run."""
BEHIND_SECONDS = 0.3
"""How long a second run is watched while a program of the first is still at work: it must not get past the lock."""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> stand_in.StandIn:
    return stand_in.make(tmp_path_factory.mktemp("env") / "vllm-0.16.0")


@pytest.fixture(scope="module")
def pauses(engine: stand_in.StandIn) -> Pauses:
    return Pauses(engine)


@pytest.fixture(scope="module")
def server(engine: stand_in.StandIn, pauses: Pauses) -> Iterator[Sshd]:
    running = launch_sshd(Settings(environment={"PATH": engine.path}))
    yield running
    end_sshd(running)


class Struck:
    """A case whose runs are processes that can be struck."""

    def __init__(self, case: Case, pauses: Pauses, repositories: Path) -> None:
        self.case = case
        self.pauses = pauses
        self.repositories = repositories
        self.runs: list[Run] = []

    def run(self, *words: str, moments: tuple[Told, ...] = ()) -> Run:
        run = Run(self.case, len(self.runs), "PLAYBOOK", *words, moments=moments)
        self.runs.append(run)
        return run

    def place(self) -> None:
        """The checkpoint is there already."""
        shutil.copytree(self.repositories / REPOSITORY, self.case.checkpoint)

    def sessions(self) -> set[int]:
        """The sessions of living processes whose command line names the checkpoint: one for each engine."""
        sessions = set()
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if os.fsencode(self.case.checkpoint) in path.read_bytes():
                    sessions.add(os.getsid(int(path.parent.name)))
            except OSError:
                continue
        return sessions

    def engines_started(self) -> int:
        """How many engines ever came to life: each says so in the log of its own launch."""
        logs = self.case.state.glob("launches/*/vllm.log")
        return sum(log.read_bytes().count(b"non-default args") for log in logs)

    def close(self) -> None:
        self.pauses.clear()
        for run in self.runs:
            run.close()
        eventually(lambda: not self.case.server.session_pids())
        request = {"instance": self.case.name, "launch": None, "footprint": asdict(FOOTPRINT)}
        request |= {"grace_seconds": 0, "kill_seconds": 5}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_STATE_HOME", str(self.case.server.state_home))
            while launches.choose(self.case.state, None, launches.table()) and self.sessions():
                stop.main(request)


@pytest.fixture
def struck(
    request: pytest.FixtureRequest,
    server: Sshd,
    engine: stand_in.StandIn,
    pauses: Pauses,
    repositories: Path,
    tmp_path: Path,
) -> Iterator[Struck]:
    with Hub(repositories) as hub:
        name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name).strip("-")
        case = Case(name, server, engine, hub, tmp_path)
        failing = request.node.callspec.params["row"].scenario in ("failing", "stubborn")
        case.content.update(parallel={"tensor": 8 if failing else 1})  # rank 4 is the one that fails first
        case.write()
        struck = Struck(case, pauses, repositories)
        yield struck
        struck.close()


ALWAYS = ("lock", "download", "patch", "launch", "smoke", "repair", "revert")


def rows(strikes: list[Strike]) -> list[object]:
    """The middle of some steps always; all else where there is time: starts and ends, programs that are late or die."""
    usual = [row.at == "middle" and row.fate == "goes on" and row.step in ALWAYS for row in strikes]
    marks = [() if each else (pytest.mark.thorough,) for each in usual]
    return [pytest.param(row, id=str(row), marks=own) for row, own in zip(strikes, marks, strict=True)]


@pytest.mark.parametrize("row", rows(STRIKES))
def test_resume(struck: Struck, row: Strike) -> None:
    words = ("--no-predict",) if row.scenario == "failing" else ()
    if row.scenario != "fresh":
        struck.place()

    first, behind = strike(struck, row, words)
    assert first.end() == USUAL[row.way], first.text[-3000:]
    second = again(struck, row, words, behind)

    assert second.end() == 0, second.text[-3000:]
    assert [result["healthy"] for result in second.of("result")] == [True]
    expected = row.journal or (REPAIRED if row.scenario == "failing" else PATCHED)
    assert struck.case.actions() in (expected, row.later or expected), second.text[-3000:]
    one_engine(
        struck,
        started=sum(action == "launch" for action in expected)
        - (row.moment is NOT_STARTED and row.fate == "dies"),
    )
    one_download(struck, row.scenario)
    files_and_journal(struck)


@pytest.mark.parametrize("row", rows(TAKEN_BACK))
def test_resume_taking_back(struck: Struck, row: Strike) -> None:
    """A patch that did not help is taken back, whatever happens; once the fault is mended the command ends healthy."""
    struck.place()
    struck.case.fault("stubborn")

    first, behind = strike(struck, row, ())
    ended = 6 if row.at == "end" else USUAL[row.way]  # nothing is left to be asked of the host
    assert first.end() == ended, first.text[-3000:]
    second = again(struck, row, (), behind)

    assert second.end() == 6, second.text[-3000:]
    assert [struck.case.config(name) for name in CONFIGS] == [
        original(struck.repositories, name) for name in CONFIGS
    ]
    assert fold(map(read, struck.case.journal())).applied == ()
    assert struck.engines_started() == 2
    struck.case.content["environment"] = {"HF_ENDPOINT": struck.case.hub.endpoint}
    struck.case.write()
    third = struck.run()
    assert third.end() == 0, third.text[-3000:]
    one_engine(struck, started=3)
    one_download(struck, row.scenario)
    files_and_journal(struck)


def strike(struck: Struck, row: Strike, words: tuple[str, ...]) -> tuple[Run, int | None]:
    """Run the command until the row's moment and end it there; gives the host's program that is held there."""
    case, moment = struck.case, row.moment
    if isinstance(moment, Told):
        run = struck.run(*words, moments=(moment,))
        eventually(run.stopped)
        run.strike(row.way)
        return run, None
    if moment == "following":  # the engine stands still from its first instant, so that it is not ready
        run = struck.run(*words, moments=(Told("launch 1", "started"), Told("launch 1", "progress")))
        eventually(run.stopped)
        (session,) = struck.sessions()
        os.killpg(session, signal.SIGSTOP)
        run.go_on()
        eventually(lambda: run.of("progress") and run.stopped())
        run.strike(row.way)
        return run, None
    if moment == "download":
        shard = sorted(path.name for path in (case.hub.repositories / REPOSITORY).glob("*.safetensors"))[3]
        case.hub.hold = {shard: threading.Event()}
        run = struck.run(*words)
        assert case.hub.held.wait(PATIENCE_SECONDS)
        eventually(lambda: run.of("progress"))
        run.strike(row.way)
        return run, None
    assert isinstance(moment, Reached)
    if row.scenario == "stubborn":  # the same file was renamed by the patch
        run = struck.run(*words, moments=(Told("revert", "started"),))
        eventually(run.stopped)
        struck.pauses.ask(moment)
        run.go_on()
    else:
        struck.pauses.ask(moment)
        run = struck.run(*words)
    program = eventually(lambda: run.lives() and struck.pauses.pid())
    if moment is SECOND_FILE:
        assert [case.config(name) == original(struck.repositories, name) for name in CONFIGS] == [True, False]
    run.strike(row.way)
    if row.fate == "goes on":
        struck.pauses.clear()
        return run, None
    if row.fate == "dies":
        os.kill(program, signal.SIGKILL)
        struck.pauses.clear()
        return run, None
    return run, program


def again(struck: Struck, row: Strike, words: tuple[str, ...], behind: int | None) -> Run:
    """The same command once more; what stood still goes on in time."""
    if row.moment == "following":
        second = struck.run(*words, moments=(Told("launch 1", "started"),))
        eventually(second.stopped)
        for session in struck.sessions():
            os.killpg(session, signal.SIGCONT)
        second.go_on()
        return second
    if row.moment == "download":
        second = struck.run(*words, moments=(Told("download", "progress"),))
        eventually(second.stopped)
        for event in struck.case.hub.hold.values():
            event.set()
        second.go_on()
        return second
    if behind is not None:
        second = struck.run(*words, moments=(Told("lock", "ended"),))
        eventually(lambda: [wait for wait in second.of("wait") if wait["step"] == "lock"])
        watched = time.monotonic() + BEHIND_SECONDS
        while time.monotonic() < watched:
            assert not second.stopped(), "it works while a program of the first run is still at work"
            time.sleep(0.02)
        struck.pauses.clear()
        eventually(second.stopped)
        second.go_on()
        return second
    return struck.run(*words)


def one_engine(struck: Struck, *, started: int) -> None:
    assert len(struck.sessions()) == 1
    assert struck.engines_started() == started


def one_download(struck: Struck, scenario: str) -> None:
    """Every file's bytes were sent once where there were none, and nothing was asked of the Hub otherwise."""
    sent = Counter(
        request.file
        for request in struck.case.hub.requests
        if request.file and request.method == "GET" and request.sent
    )
    assert bool(sent) == (scenario == "fresh")
    assert set(sent.values()) <= {1}, sent


def files_and_journal(struck: Struck) -> None:
    """Both config files are patched, their originals are kept, nothing else lies about, and the journal says so."""
    case = struck.case
    config, sidecar = (json.loads(case.config(name)) for name in CONFIGS)
    assert "kv_cache_scheme" not in config["quantization_config"]
    assert sidecar["quantization"]["kv_cache_quant_algo"] is None
    there = {path.name for path in case.checkpoint.iterdir()} - {".cache"}
    assert there == {path.name for path in (struck.repositories / REPOSITORY).iterdir()}
    history = fold(map(read, case.journal()))
    (patch,) = history.applied
    assert patch.confirmed
    assert {file.name for file in patch.files} == set(CONFIGS)
    for file in patch.files:
        assert file.after == hashlib.sha256(case.config(file.name)).hexdigest()
        kept = (case.state / "backups" / file.before).read_bytes()
        assert kept == original(struck.repositories, file.name)
    assert history.outcome is not None and history.outcome.result == "healthy"
    assert history.launch == history.outcome.launch
