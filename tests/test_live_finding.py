"""A failure is told while the engine still lives; what the log later shows to be survived is not acted upon."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.diagnosis.live import Live
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.launch import progress
from orchestrator.launch.progress import Progress
from orchestrator.patches.known import Known
from orchestrator.programs.watch import Labour
from tests import stand_in, tiny_mla
from tests.deployments import REPOSITORY, Case
from tests.hub import Hub
from tests.sshd import Settings, Sshd


@pytest.fixture
def changed(
    tmp_path: Path, start_sshd: Callable[[Settings], Sshd]
) -> Iterator[Callable[[str, str, str], Case]]:
    """A case whose stand-in engine has one piece of its program replaced."""
    tiny_mla.make(tmp_path / "hub" / REPOSITORY)
    with Hub(tmp_path / "hub") as hub:
        cases: list[Case] = []

        def make(module: str, old: str, new: str) -> Case:
            engine = stand_in.make(tmp_path / "vllm-0.16.0")
            (program,) = engine.folder.glob(f"lib/*/site-packages/vllm/stand_in/{module}.py")
            text = program.read_text()
            assert old in text
            program.write_text(text.replace(old, new))
            server = start_sshd(Settings(environment={"PATH": engine.path}))
            cases.append(Case("live", server, engine, hub, tmp_path))
            return cases[0]

        yield make


def test_an_engine_that_failed_and_lingers_is_not_waited_for(
    changed: Callable[[str, str, str], Case],
) -> None:
    ending = "        os._exit(1)\n\n    def _end("
    case = changed("core", ending, ending.replace("os._exit(1)", "time.sleep(FOREVER)"))
    left = case.deploy("PLAYBOOK", "--no-predict", "--json")
    assert left.code == 0, left.out + left.err
    order = [event for event in left.events if event.get("finding") or event["event"] == "finding"]
    assert [event["event"] for event in order] == ["progress", "finding"]
    assert order[0]["finding"] == order[1]["patch"] == "fp8-kv-mla"
    assert order[0]["process"] == "Worker_TP4"
    ended = [step for step in left.of("step") if step["step"] == "launch 1" and "seconds" in step]
    assert [step["text"] for step in ended] == ["the engine failed and did not end by itself"]
    results = [record["result"] for record in case.journal() if record["action"] == "outcome"]
    assert results == ["failed", "healthy"]


def test_an_engine_that_dies_of_the_first_completion_is_explained_whatever_its_exit_status(
    changed: Callable[[str, str, str], Case],
) -> None:
    ending = 'Waiting for application shutdown.")\n        os._exit('
    case = changed("api_server", ending, f"{ending}0)\n        (")
    case.fault("first-request")
    left = case.deploy("PLAYBOOK", "--json")
    assert left.code == 6, left.out + left.err
    (finding,) = left.of("finding")
    assert finding["diagnosis"]["verdict"] == "fault"
    assert "illegal memory access" in finding["diagnosis"]["root_cause"]["text"]


def test_a_failure_that_is_survived_is_not_acted_upon(
    changed: Callable[[str, str, str], Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LINGER_SECONDS", 60.0)  # a busy machine takes longer to become ready
    case = changed("worker", 'os.write(self._report, b"e")', "return")
    left = case.deploy("PLAYBOOK", "--no-predict", "--json")
    assert left.code == 0, left.out + left.err
    # Its line races with the word that the engine is ready: it may be told, and more may not happen.
    assert {event["finding"] for event in left.of("progress") if event.get("finding")} <= {"fp8-kv-mla"}
    assert left.of("finding") == []
    assert case.actions() == ["launch", "outcome"]


def test_a_launch_that_stands_still_is_repaired_like_any_other(
    changed: Callable[[str, str, str], Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = changed("worker", 'if settings.fault == "hang":', 'if "NCCL_P2P_DISABLE" not in os.environ:')
    launches = case.state / "launches"

    def idle(_: Progress) -> float:
        """Hours have passed once the first launch stands where it stands for good; none in the second."""
        stands = b"vLLM is using nccl" in (launches / "1/vllm.log").read_bytes()
        return 7200.0 if stands and not (launches / "2").exists() else 0.0

    monkeypatch.setattr(Progress, "idle_seconds", property(idle))
    left = case.deploy("PLAYBOOK", "--json")
    assert left.code == 0, left.out + left.err
    (finding,) = left.of("finding")
    assert (finding["patch"], finding["diagnosis"]["verdict"]) == ("hang-nccl-start", "hang")
    ended = [step for step in left.of("step") if step["step"] == "launch 1" and "seconds" in step]
    assert "stands still" in ended[0]["text"]
    assert case.journal()[-1]["result"] == "healthy"


def test_reading_from_a_disk_is_a_sign_of_life() -> None:
    shown = Progress(Live(Known(), (), GRAMMAR))
    shown.waited(2.0, Labour(cpu_seconds=1.0, read_bytes=0))
    shown._life -= 100.0
    shown.waited(4.0, Labour(cpu_seconds=3.0, read_bytes=1 << 30))
    assert shown.idle_seconds < 10.0
    shown._life -= 100.0
    shown.waited(6.0, Labour(cpu_seconds=9.0, read_bytes=1 << 30))
    assert shown.idle_seconds < 10.0, "while Python starts, computing is progress"
    shown.log(b"INFO 02-20 21:35:07 [a.py:1] vLLM is using nccl==2.28.3\n")
    shown._life -= 100.0
    shown.waited(8.0, Labour(cpu_seconds=19.0, read_bytes=1 << 30))
    assert shown.idle_seconds > 90.0, "ranks that wait for each other spin"
