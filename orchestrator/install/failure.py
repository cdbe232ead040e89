"""Which error is an installation that failed on the host?"""

from __future__ import annotations

import shlex

from orchestrator.base.errors import DeployError, PreflightRefused
from orchestrator.playbook.pinned import PinnedEngine


def failure(
    code: str,
    message: str,
    pinned: PinnedEngine,
    host: str,
    *,
    room: str,
    index: str,
    wheels: str | None = None,
) -> DeployError:
    """The error of a failed installation; the codes are those of `on_host/environments/failure.py`. `wheels` is the folder on
    this machine from which it was to be made."""
    log = f"less {shlex.quote(f'{room}/install.log')}  # on {host}"
    asking = f"curl -sS {shlex.quote(f'{index}/{pinned.name}/')}  # on {host}"
    commands = {
        "install_no_space": f"df -h {shlex.quote(room)}  # on {host}",
        "index_unreachable": asking,
        "index_refused": asking,
        "engine_not_found": _fetching(pinned, wheels) if wheels else asking,
        "uv_missing": f"python3 -m pip install --user uv  # on {host}",
        "install_no_python": f"ls -l /usr/bin/python3*  # on {host}",
    }
    return PreflightRefused(code, f"{host}: {pinned}: {message}", next_command=commands.get(code, log))


def _fetching(pinned: PinnedEngine, wheels: str) -> str:
    """The command that puts an engine's wheels, and those of all that it names, into a folder."""
    return f"python3 -m pip download --only-binary=:all: -d {shlex.quote(wheels)} {pinned}"
