"""What the tests of bad input share: a host, an engine and a Hub for all of them, a playbook and a checkpoint for each."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import stand_in, tiny_mla
from tests.deployments import REPOSITORY, Case
from tests.hub import Hub
from tests.sshd import NoSshd, Settings, Sshd, end_engines, end_sshd, launch_sshd

Program = Callable[[str, str], None]
"""Puts a shell script in a program's place on the host."""
NUMBERS = itertools.count(1)


@pytest.fixture(scope="package")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hub")
    tiny_mla.make(folder / REPOSITORY)
    return folder


@pytest.fixture(scope="package")
def engine(tmp_path_factory: pytest.TempPathFactory) -> stand_in.StandIn:
    return stand_in.make(tmp_path_factory.mktemp("env") / "vllm-0.16.0")


@pytest.fixture(scope="package")
def first_on_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of programs that the host finds before all others; empty but for what a test puts there."""
    return tmp_path_factory.mktemp("first")


@pytest.fixture(scope="package")
def server(engine: stand_in.StandIn, first_on_path: Path) -> Iterator[Sshd]:
    try:
        running = launch_sshd(Settings(environment={"PATH": f"{first_on_path}:{engine.path}"}))
    except NoSshd as reason:
        pytest.skip(str(reason))
    yield running
    end_sshd(running)


@pytest.fixture
def program(first_on_path: Path) -> Iterator[Program]:
    """Puts a shell script in a program's place on the host, for one test."""
    made: list[Path] = []

    def put(name: str, script: str) -> None:
        path = first_on_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        made.append(path)

    yield put
    for path in made:
        path.unlink()


@pytest.fixture
def case(
    server: Sshd,
    engine: stand_in.StandIn,
    repositories: Path,
    tmp_path: Path,
) -> Iterator[Case]:
    with Hub(repositories) as hub:
        case = Case(f"bad-{next(NUMBERS)}", server, engine, hub, tmp_path)
        yield case
        end_engines(server)


@pytest.fixture
def whole(case: Case, repositories: Path) -> Case:
    """With the checkpoint in place already."""
    shutil.copytree(repositories / REPOSITORY, case.checkpoint)
    return case
