"""Two hosts with a role each: locked, launched, repaired and ended together."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from orchestrator.base.errors import CheckpointError, DeployError, HostError, Locked, UsageError
from orchestrator.base.events import Report
from orchestrator.base.limits import Limits
from orchestrator.group.group import Group, GroupHost
from orchestrator.job import Job
from orchestrator.loop.deployment import Deployment
from orchestrator.loop.lock import Lock
from orchestrator.on_host.processes import procs
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook.playbook import Playbook
from orchestrator.rehearsal import Box
from orchestrator.remedy import apply
from tests.jobs import PATCHES, Told

ROLES = ("prefill", "decode")
BF16 = ["arguments.kv-cache-dtype=bfloat16"]
"""With this a launch has nothing to be refused for."""
SMALL = ["parallel.tensor=2", "figures.weights_bytes=147000000000"]
"""A quarter of the model on a quarter of the cards: more ranks show nothing else of a group, and each is a process."""


@dataclass
class Two:
    """Two boxes as the hosts of a group, and what was told."""

    boxes: tuple[Box, Box]
    stack: contextlib.ExitStack
    told: Told = field(default_factory=Told)

    def group(
        self, *settings: Sequence[str], predict: bool = False, order: Sequence[int] = (0, 1), **more: Any
    ) -> Deployment:
        hosts = []
        for number in order:
            box = self.boxes[number]
            host = self.stack.enter_context(box.open_host())
            host.name = f"gpu{number}"
            playbook = box.playbook.with_overrides([*SMALL, *(settings[number] if settings else ())])
            hosts.append(GroupHost(ROLES[number], self.job(host, playbook, predict=predict, **more)))
        return Deployment(Group("pair", tuple(hosts)))

    def job(self, host: Any, playbook: Playbook, *, predict: bool, **more: Any) -> Job:
        wishes = Wishes(patches=PATCHES, predict=predict)
        report = Report(self.told, host.name)
        return Job(host, playbook, report, wishes, lambda verb: f"deploy {verb} x", **more)

    def journals(self) -> list[list[dict[str, Any]]]:
        texts = [(box.state / "journal.jsonl").read_text() for box in self.boxes]
        return [[json.loads(line) for line in text.splitlines()] for text in texts]

    def actions(self, number: int) -> list[str]:
        return [
            f"{record['action']} {record['result']}" if record["action"] == "outcome" else record["action"]
            for record in self.journals()[number]
        ]

    def when(self, number: int, *actions: str) -> list[str]:
        """The host's times of these records, which are those of one machine here."""
        return [record["at"] for record in self.journals()[number] if record["action"] in actions]

    def states(self) -> list[str]:
        return [reading.status()["state"] for reading in self.group().readings]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))  # of whoever deploys: a bundle is written there
    with contextlib.ExitStack() as stack:

        def started(*faults: str | None) -> Two:
            first, second = (stack.enter_context(Box(pace="fast", fault=fault)) for fault in faults)
            for box in (first, second):  # what is fetched of a Hub is another story, and each file costs
                shutil.copytree(box.repository, box.checkpoint, dirs_exist_ok=True)
            return Two((first, second), stack)

        yield started


@pytest.fixture
def two(start: Any) -> Two:
    made: Two = start(None, None)
    return made


def test_both_become_healthy_and_neither_goes_ahead(two: Two) -> None:
    two.group(predict=True).up()
    for number in (0, 1):
        assert two.actions(number)[-3:] == ["consent", "launch", "outcome healthy"]
    assert max(two.when(0, "patch") + two.when(1, "patch")) < min(
        two.when(0, "launch") + two.when(1, "launch")
    )
    steps = [(event.host, event.step, event.data.get("state")) for event in two.told.events]
    ready = max(steps.index((host, "launch 1", "ok")) for host in ("gpu0", "gpu1"))
    assert ready < min(steps.index((host, "smoke", "started")) for host in ("gpu0", "gpu1"))
    assert two.states() == ["healthy", "healthy"]
    before = two.journals()
    two.group(predict=True).up()
    assert two.journals() == before


def test_one_fails_both_are_repaired_started_again_stopped_and_patches_taken_back_wherever_they_are(
    two: Two,
) -> None:
    two.group([], BF16).up()
    failed, other = ([action for action in two.actions(number) if action != "consent"] for number in (0, 1))
    assert failed == ["launch", "outcome failed", "stop", "patch", "launch", "outcome healthy"]
    assert other == ["launch", "stop", "launch", "outcome healthy"]  # nothing there asks for FP8
    assert max(two.when(1, "stop")) < min(two.when(0, "patch"))
    assert max(two.when(0, "patch")) < min(two.when(number, "launch")[1] for number in (0, 1))
    assert two.states() == ["healthy", "healthy"]
    two.group().stop()
    assert two.states() == ["stopped", "stopped"]
    assert two.group().revert("fp8-kv-mla") == ("fp8-kv-mla",)
    with pytest.raises(UsageError) as raised:
        two.group().revert("fp8-kv-mla")
    assert raised.value.code == "patch_not_in_force"
    changes = two.group(predict=True).patch_only()
    assert [change.patch.id for change in changes] == ["fp8-kv-mla", "fp8-kv-mla"]
    assert [two.actions(number)[-1] for number in (0, 1)] == ["patch", "patch"]
    assert two.group().revert(None) == ("fp8-kv-mla",)
    assert [two.actions(number)[-1] for number in (0, 1)] == ["revert", "revert"]


def test_what_would_fail_there_too_is_cured_on_both(two: Two) -> None:
    two.group().up()
    assert [two.actions(number).count("patch") for number in (0, 1)] == [1, 1]
    assert [two.actions(number).count("launch") for number in (0, 1)] == [2, 2]
    patched = max(two.when(0, "patch") + two.when(1, "patch"))
    assert patched < min(two.when(number, "launch")[1] for number in (0, 1))
    assert two.states() == ["healthy", "healthy"]


def test_one_that_dies_while_it_waits_for_the_other_is_seen(two: Two) -> None:
    two.boxes[1].server.environment["STAND_IN_PACE"] = "0.5"
    show = two.told.show

    def kill_once_ready(event: Any) -> None:
        show(event)
        if (event.host, event.step, event.data.get("state")) == ("gpu0", "launch 1", "ok"):
            record = json.loads((two.boxes[0].state / "launches" / "1" / "process.json").read_text())
            for process in procs.processes().values():
                if process.session == record["session"] and process.pid != record["pid"]:
                    procs.send(process, signal.SIGKILL)

    two.told.show = kill_once_ready  # type: ignore[method-assign]
    two.group(BF16, BF16).up()
    failed, other = ([action for action in two.actions(number) if action != "consent"] for number in (0, 1))
    assert failed == ["launch", "outcome failed", "stop", "launch", "outcome healthy"]
    assert other == ["launch", "stop", "launch", "outcome healthy"]
    ended = [
        event.data.get("state")
        for event in two.told.events
        if (event.host, event.step) == ("gpu1", "launch 1")
    ]
    assert ended[-1] == "halted"


def test_a_failure_without_remedy_ends_both(start: Any) -> None:
    two: Two = start(None, "unknown")
    with pytest.raises(DeployError) as raised:
        two.group(BF16, BF16).up()
    assert raised.value.code == "unknown_cause"
    assert raised.value.message.startswith("decode on gpu1: launch 1 failed"), raised.value.message
    assert [two.actions(number)[-1] for number in (0, 1)] == ["stop", "stop"]
    for reading in two.group().readings:
        assert reading.ending().observed.members == ()


def test_a_connection_that_is_lost_ends_nothing_and_the_same_command_resumes(two: Two) -> None:
    show = two.told.show
    two.boxes[1].server.environment["STAND_IN_PACE"] = "0.3"

    def cut_once_ready(event: Any) -> None:
        show(event)
        if (event.host, event.step, event.data.get("state")) == ("gpu0", "launch 1", "ok"):
            for transport in two.boxes[1].server._transports:
                transport.close()

    two.told.show = cut_once_ready  # type: ignore[method-assign]
    with pytest.raises(HostError) as raised:
        two.group(BF16, BF16).up()
    assert raised.value.message.startswith("decode on gpu1: ")
    left = [event.text for event in two.told.events if event.kind == "warning" and event.host == "gpu0"]
    assert left[-1].startswith("launch 1 goes on with ")
    assert "deploy stop x ends it" in left[-1]
    two.told.show = show  # type: ignore[method-assign]
    two.group(BF16, BF16).up()
    assert [two.actions(number).count("launch") for number in (0, 1)] == [1, 1]
    assert two.states() == ["healthy", "healthy"]


def test_a_lock_that_somebody_else_has_leaves_none_locked(two: Two) -> None:
    group = two.group(BF16, BF16)
    theirs = group.readings[1].job
    for held, free in ((1, 0), (0, 1)):
        with two.boxes[held].open_host() as host, Lock(_on(theirs, host), "something else"):
            with pytest.raises(Locked) as raised:
                two.group(BF16, BF16).up()
            assert raised.value.message.startswith(f"{ROLES[held]} on gpu{held}: ")
            assert raised.value.message.endswith("something else")
            with two.boxes[free].open_host() as other, Lock(_on(theirs, other), "trying"):
                pass
    assert not any((box.state / "launches").exists() for box in two.boxes)


def _on(job: Job, host: Any) -> Job:
    return Job(host, job.playbook, job.report, job.wishes, job.command)


def test_two_deployers_in_the_opposite_order_do_not_wait_for_each_other(two: Two) -> None:
    ends: list[DeployError | None] = []

    def bring_up(deployment: Deployment) -> None:
        try:
            deployment.up()
            ends.append(None)
        except DeployError as error:
            ends.append(error)

    deployers = [two.group(BF16, BF16), two.group(BF16, BF16, order=(1, 0))]
    threads = [threading.Thread(target=bring_up, args=(deployer,)) for deployer in deployers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert None in ends
    assert all(isinstance(end, Locked) for end in ends if end is not None), ends
    assert two.states() == ["healthy", "healthy"]
    assert [two.actions(number).count("launch") for number in (0, 1)] == [1, 1]


def test_a_remedy_that_one_host_refuses_is_applied_on_none(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    config, applied = two.boxes[1].checkpoint / "config.json", apply.apply

    def edited_meanwhile(job: Job, *given: Any, **more: Any) -> None:
        if job.host.name == "gpu1":
            config.write_bytes(config.read_bytes() + b" ")
        applied(job, *given, **more)

    with monkeypatch.context() as meanwhile, pytest.raises(CheckpointError) as raised:
        meanwhile.setattr(apply, "apply", edited_meanwhile)
        two.group().up()
    assert raised.value.code == "changed_meanwhile"
    assert raised.value.message.startswith("decode on gpu1: ")
    assert two.actions(0)[-2:] == ["patch", "revert"]
    assert "patch" not in two.actions(1)
    served = two.boxes[0].repository / "config.json"
    assert (two.boxes[0].checkpoint / "config.json").read_bytes() == served.read_bytes()
    two.group().up()
    assert two.states() == ["healthy", "healthy"]


def test_the_attempts_of_a_group_are_counted_once(two: Two) -> None:
    with pytest.raises(DeployError) as raised:
        two.group([], BF16, limits=Limits(max_attempts=1)).up()
    assert raised.value.code == "attempts_spent"
    assert [two.actions(number).count("launch") for number in (0, 1)] == [1, 1]
    assert "patch" not in [*two.actions(0), *two.actions(1)]
    assert [two.actions(number)[-1] for number in (0, 1)] == ["stop", "stop"]
