"""Where playbooks and patches are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.base.data_folders import data_folders, shipped


def test_given_folders_come_before_the_users_and_the_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/config")
    given = Path("/given")
    assert data_folders("patches", [given]) == (given, Path("/config/deploy/patches"), shipped("patches"))


@pytest.mark.parametrize("configured", ["", "relative"])
def test_a_relative_config_home_is_ignored(monkeypatch: pytest.MonkeyPatch, configured: str) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", configured)
    monkeypatch.setenv("HOME", "/home/ml")
    assert data_folders("playbooks")[0] == Path("/home/ml/.config/deploy/playbooks")


def test_the_shipped_folders_are_there() -> None:
    assert list(shipped("playbooks").glob("*.yaml"))
    assert list(shipped("patches").glob("*/*.yaml"))
