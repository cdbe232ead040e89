"""How does a person see that a command was refused, and what is there to show that nothing was changed?"""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tests import stand_in
from tests.deploy import Left
from tests.deployments import Case
from tests.sshd import Sshd

ONE_CARD = {"parallel": {"tensor": 1}, "needs": {"gpus": 1}}
"""What spares the launch of eight workers."""


def found_on(case: Case) -> dict[str, tuple[int, int, int, bytes | str]]:
    """Every file of the host's that a deployment may write but its locks, as it is: mode, owner, time, content."""
    found: dict[str, tuple[int, int, int, bytes | str]] = {}
    for root in (case.server.home, case.server.state_home, case.checkpoint):
        for path in (root, *root.rglob("*")) if root.exists() or root.is_symlink() else ():
            status = path.lstat()
            if path.name in ("lock", "work") or (path.is_dir() and not path.is_symlink()):
                continue
            small = path.is_file() and status.st_size < 1 << 20
            content: bytes | str = path.read_bytes() if small else os.path.realpath(path)
            found[str(path)] = (status.st_mode, status.st_uid, status.st_mtime_ns, content)
    return found


def refused(case: Case, *words: str, exit_code: int, code: str) -> dict[str, Any]:
    """Run the command, which must leave with this error, a next command, and everything as it was."""
    before = found_on(case)
    left = case.deploy(*(words or ("PLAYBOOK",)), "--json")
    assert left.code == exit_code, left.out + left.err
    error = the_error(left)
    assert error["code"] == code, error
    assert error["next"], error
    assert found_on(case) == before
    return error


def the_error(left: Left) -> dict[str, Any]:
    assert "Traceback" not in left.err
    (told,) = [json.loads(line) for line in left.out.splitlines() if '"event": "error"' in line]
    error: dict[str, Any] = told["error"]
    return error


def not_downloaded(case: Case, *, code: str) -> dict[str, Any]:
    """Bring the playbook up, which must end at the download, with nothing fetched and nothing launched."""
    left = case.deploy("PLAYBOOK", "--json")
    assert left.code == 5, left.out + left.err
    error = the_error(left)
    assert error["code"] == code, error
    assert error["next"], error
    assert case.hub.fetched() == []
    assert not (case.state / "launches").exists()
    return error


def reach(case: Case, **options: str) -> None:
    """Have the case's command reach the host by another ssh_config."""
    path = case.home / "ssh_config"
    path.write_text(case.server.host_stanza(**options))
    case.deploy.server = cast(Sshd, SimpleNamespace(alias=case.server.alias, ssh_config=str(path)))


def engine_that_first(folder: Path, program: str) -> str:
    """A stand-in whose engine runs this program before anything else; gives its interpreter."""
    made = stand_in.make(folder / "engine")
    (entry,) = made.folder.glob("lib/*/site-packages/vllm/entrypoints/openai/api_server.py")
    entry.write_text(f"{program}\n{entry.read_text()}")
    return made.python
