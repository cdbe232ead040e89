"""Which hosts of a group give each other the checkpoint, by how it stands on each."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.engines.node import Node
from orchestrator.loop.copies import arranged
from orchestrator.loop.reading import Reading
from orchestrator.steps.course import Course, course
from orchestrator.steps.download import Download
from orchestrator.survey.checkpoint import Checkpoint
from tests.jobs import KIMI, Answering, job
from tests.steps.doing import plan
from tests.surveys import NO_FILES, WHOLE, survey

SPREAD = KIMI.with_overrides(["parallel.nodes=2", "parallel.pipeline=2"])


def listed(name: str, checkpoint: Checkpoint, setting: str = "hosts") -> tuple[Reading, Course]:
    host = Answering()
    host.name = name
    node = Node(0, 2, "10.0.0.1", 29501, f"10.0.0.{ord(name)}", "eth0")
    playbook = SPREAD.with_overrides([f"checkpoint.source={setting}"]).as_node(node)
    mine = replace(job(host), playbook=playbook)
    return Reading(mine), course(mine, plan(survey(checkpoint=checkpoint), mine), "up")


def ways(*hosts: tuple[Reading, Course]) -> list[str]:
    readings, courses = zip(*hosts, strict=True)
    planned = arranged(readings, courses)
    for reading, own in zip(readings, planned, strict=True):
        later = reading.listed(own.plan, "up", "fetch")
        assert later.way == own.way, "what is planned later goes the same way"
    return [own.way for own in planned]


def test_hosts_that_lack_it_get_it_from_the_first() -> None:
    hosts = listed("a", NO_FILES), listed("b", NO_FILES)
    assert ways(*hosts) == ["from the Hub, and on to b", "from a over 10.0.0.97 as it comes there"]
    (step,) = (step for step in arranged(*zip(*hosts, strict=True))[1].steps if isinstance(step, Download))
    (words,) = step.effects.words
    assert words.endswith("lacks of nvidia/Kimi-K2.5-NVFP4 from a over 10.0.0.97 as it comes there")


def test_each_asks_the_hub_where_a_person_wants_that_or_only_one_lacks_it() -> None:
    assert ways(listed("a", NO_FILES, "hub"), listed("b", NO_FILES, "hub")) == ["", ""]
    assert ways(listed("a", WHOLE), listed("b", NO_FILES)) == ["", ""]  # nobody knows what that is
    assert ways(listed("a", NO_FILES)) == [""]
