"""Where does the uv come from that is sent to a host which gets none itself?"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from orchestrator.hosts.host import Host
from orchestrator.on_host.environments import uv
from orchestrator.on_host.environments.failure import InstallFailure
from orchestrator.on_host.files.exchanged import exchanged


def uv_for(host: Host) -> Path | None:
    """The wheel of the pinned uv for the host's machine, kept in this person's cache; None where it cannot be had here either."""
    machine = host.run("uname -m").stdout.decode(errors="replace").strip()
    name, sha256 = uv.WHEELS.get(machine, ("", ""))
    path = _cache() / name
    if name and path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256:
        return path
    try:
        wheel = uv.fetched_here(machine)
    except InstallFailure:
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    with exchanged(path, prefix=".uv.") as file:
        file.write(wheel)
    return path


def _cache() -> Path:
    configured = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(configured) if Path(configured).is_absolute() else Path.home() / ".cache"
    return base / "deploy" / "uv"
