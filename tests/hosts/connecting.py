"""What tests do with a connection over a real server."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.base.errors import DeployError
from orchestrator.hosts.connect import open_host
from orchestrator.hosts.host import Host
from tests.sshd import Settings, Sshd
from tests.waiting import PATIENCE_SECONDS

Start = Callable[[Settings], Sshd]


def greet(host: Host) -> bytes:
    with host:
        return host.run("echo hello").stdout


def refused(text: str, **options: object) -> DeployError:
    """The error that opening this host ends with; no thread of it may be left."""
    before = set(threading.enumerate())
    with pytest.raises(DeployError) as caught:
        open_host(text, **options)  # type: ignore[arg-type]
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()
    return caught.value


def write_config(folder: Path, *stanzas: str) -> str:
    path = folder / "client_config"
    path.write_text("\n".join(stanzas))
    return str(path)
