"""How is something taken away without anything else going with it?

Whatever deploy removes on a host that is not its own state goes through `take`. What is there is read without following
a link (`way.py`), `candidate.py` judges it, and what goes is what was judged: it is named within an open folder, and looked at
again.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Collection, Mapping

from orchestrator.on_host.processes import in_use
from orchestrator.on_host.removing import candidate, way

ASIDE = ".removed-by-deploy"
_CHANGED = "it changed while it was looked at"


def take(
    base: str,
    below: str,
    *,
    owners: Collection[int] | None = None,
    others: Collection[str] = (),
    used: Mapping[in_use.File, Collection[int]] | None = None,
    expect: in_use.File | None = None,
    spare: Collection[str] = (),
    local: bool = False,
) -> str | None:
    """Remove what lies at `base`/`below`: why it stays, or None once it is gone.

    `base` is where a person, a variable or a default leads, be it through links; below it none is followed, and a link
    at the end goes itself. `owners`: this user alone where nobody consented to more. `others`: names known to lead to the
    same file. `used`: who uses which file, where that was asked already. `expect`: the one file that is meant. `spare`:
    paths that no removed folder may hold, besides the home folder and deploy's state. `local`: only on a file system that
    no other machine uses. Raises FileNotFoundError where nothing is there.
    """
    mine = (os.getuid(),) if owners is None else owners
    try:
        with way.room(base, below) as (room, name):
            status = os.lstat(name, dir_fd=room)
            if expect is not None and (status.st_dev, status.st_ino) != expect:
                return _CHANGED
            place = os.path.join(os.path.realpath(base), below)
            never = [os.path.realpath(os.path.expanduser(path)) for path in spare]
            there = candidate.look(
                room, place, status, others, used, (*never, *candidate.never_held()), local
            )
            reason = candidate.reason_to_keep(there, mine)
            if reason is None:
                reason = _remove(room, name, status)
            return reason
    except way.ThroughLink as link:
        return str(link)
    except FileNotFoundError:
        raise
    except OSError as error:
        return error.strerror or str(error)


def sweep(base: str, below: str) -> None:
    """Remove what an earlier `take` of this folder was ended in the middle of."""
    folder, name = os.path.split(below)
    with contextlib.suppress(OSError):
        for left in os.listdir(os.path.join(base, folder)):
            if re.fullmatch(rf"{re.escape(name + ASIDE)}-\d+", left):
                take(base, os.path.join(folder, left))


def _remove(room: int, name: str, judged: os.stat_result) -> str | None:
    """Remove exactly what was judged."""
    if not os.path.samestat(os.lstat(name, dir_fd=room), judged):
        return _CHANGED
    if not stat.S_ISDIR(judged.st_mode):
        os.unlink(name, dir_fd=room)
        return None
    aside = name if re.search(rf"{re.escape(ASIDE)}-\d+$", name) else f"{name}{ASIDE}-{os.getpid()}"
    os.rename(name, aside, src_dir_fd=room, dst_dir_fd=room)
    if not _emptied(room, aside, judged):
        os.rename(aside, name, src_dir_fd=room, dst_dir_fd=room)
        return _CHANGED
    with contextlib.suppress(OSError):
        os.rmdir(aside, dir_fd=room)
    return None


def _emptied(room: int, name: str, judged: os.stat_result) -> bool:
    """Empty a folder that nobody finds any more, if it is the one that was judged; what cannot go now is swept another time.

    It is held open: where others may write in the room they could put another one in its place.
    """
    try:
        folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=room)
    except OSError:
        return False
    try:
        if not os.path.samestat(os.fstat(folder), judged):
            return False
        for _, folders, files, at in os.fwalk(".", topdown=False, dir_fd=folder):
            for file in files:
                with contextlib.suppress(OSError):
                    os.unlink(file, dir_fd=at)
            for inner in folders:
                with contextlib.suppress(OSError):
                    if stat.S_ISLNK(os.lstat(inner, dir_fd=at).st_mode):
                        os.unlink(inner, dir_fd=at)
                    else:
                        os.rmdir(inner, dir_fd=at)
        return True
    finally:
        os.close(folder)
