"""Deployments of one playbook, each with a name of its own, live side by side on one host."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests import stand_in
from tests.deployments import Case
from tests.hub import Hub
from tests.ports import free_port
from tests.sshd import Settings, Sshd


@pytest.fixture
def small(
    tmp_path: Path, repositories: Path, start_sshd: Callable[[Settings], Sshd]
) -> Iterator[tuple[Case, list[str]]]:
    """A playbook that needs no cards, and the options of a second deployment of it."""
    engine = stand_in.make(tmp_path / "vllm-0.18.0", version="0.18.0", cards=0)
    server = start_sshd(Settings(environment={"PATH": engine.path}))
    with Hub(repositories) as hub:
        case = Case("small", server, engine, hub, tmp_path)
        case.content.update({"parallel": {"tensor": 1}, "needs": {"gpus": 0}})
        case.write()
        other = ["--name", "other", "--set", f"port={free_port()}"]
        yield case, other


def state(case: Case, *options: str) -> dict[str, object]:
    left = case.deploy("status", "PLAYBOOK", "--json", *options)
    return dict(json.loads(left.out.splitlines()[-1]))


def test_two_live_side_by_side_and_one_is_stopped_alone(small: tuple[Case, list[str]]) -> None:
    case, other = small
    for options in ([], other):
        left = case.deploy("PLAYBOOK", "--json", *options)
        assert left.code == 0, left.out + left.err
    states = case.state.parent
    assert [(states / name / "launches" / "1").is_dir() for name in ("small", "other")] == [True, True]
    assert case.deploy("stop", "PLAYBOOK").code == 0
    assert (state(case)["state"], state(case, *other)["state"]) == ("stopped", "healthy")
    assert state(case, *other)["name"] == "other"


def test_what_is_to_be_typed_next_names_the_deployment(small: tuple[Case, list[str]]) -> None:
    case, other = small
    left = case.deploy("PLAYBOOK", *other)
    assert left.code == 0, left.out + left.err
    follow = next(line for line in left.out.splitlines() if "deploy logs" in line)
    assert "--name other" in follow


def test_a_name_is_one_playbooks(small: tuple[Case, list[str]]) -> None:
    case, _ = small
    assert case.deploy("PLAYBOOK").code == 0
    before = case.journal()
    case.path.rename(case.path.with_name("another.yaml"))
    another = replace(case.deploy, playbook=case.path.with_name("another.yaml"))
    for verb in (["up"], ["restart"], ["remediate"], ["remediate", "--no-launch"]):
        left = another(*verb, "PLAYBOOK", "--name", "small")
        assert (left.code, "[name_taken, exit 4]" in left.err) == (4, True), left.err
        assert "--name NAME" in left.err
    case.path.with_name("another.yaml").rename(case.path)
    assert case.journal() == before
    assert state(case)["state"] == "healthy"


@pytest.mark.parametrize("name", ["../x", "", "A", "-x", "a" * 65])
def test_a_name_that_no_folder_may_have_is_refused(case: Case, name: str) -> None:
    left = case.deploy("PLAYBOOK", f"--name={name}")
    assert left.code == 2
    assert "--name" in left.err
