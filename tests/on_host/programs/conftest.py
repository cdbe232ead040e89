"""What tests of the programs on a host share."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub.constants
import pytest

from orchestrator.on_host.checkpoint import hub_attempts
from tests import tiny_mla
from tests.hub import Hub
from tests.on_host.programs.download_site import Site


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_mla.make(tmp_path_factory.mktemp("original") / "tiny")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of its own, where no other state is named."""
    tmp_path.chmod(0o700)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    return tmp_path


@pytest.fixture
def site(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for name in [name for name in os.environ if name.startswith(("HF_", "HUGGING"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "hf" / "token"))
    monkeypatch.setattr(hub_attempts, "FIRST_WAIT_SECONDS", 0.01)
    shutil.copytree(original, tmp_path / "repositories" / "org" / "tiny")
    with Hub(tmp_path / "repositories") as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        yield Site(tmp_path, hub)


@pytest.fixture
def fetched(site: Site) -> Site:
    """A site whose folder holds the checkpoint as huggingface_hub would have left it, long ago."""
    shutil.copytree(site.repository, site.folder)
    return site
