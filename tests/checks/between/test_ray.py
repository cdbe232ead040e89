"""The Ray of hosts whose ranks it starts."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.checks.between import ray
from orchestrator.checks.between.group_check import GroupCheck
from orchestrator.facts import engine
from orchestrator.facts.engine import InstalledEngine
from orchestrator.facts.gather import Facts
from tests.checks.between.test_by_facts import facts


def having(release: str | None) -> Facts:
    installed = facts().of(engine.FACT)
    assert isinstance(installed, InstalledEngine)
    return Facts({"engine": replace(installed, ray=release)})


def compared(*releases: str | None) -> list[GroupCheck]:
    return list(ray.check({f"gpu{number}": having(release) for number, release in enumerate(releases)}))


def test_another_release_is_named_with_what_mends_it() -> None:
    assert [(each.verdict, each.sentence) for each in compared("2.48.0", "2.48.0")] == [
        ("pass", "Ray 2.48.0 on all")
    ]
    (differs,) = compared("2.48.0", "2.60.0", "2.48.0")
    assert (differs.verdict, differs.code) == ("fail", "rays_differ")
    assert differs.sentence == "Ray 2.48.0 on gpu0 and gpu2, 2.60.0 on gpu1"
    assert differs.mend == "/e/bin/python3 -m pip install 'ray[cgraph]==2.48.0'  # on gpu1"
    assert not compared(None, None)
