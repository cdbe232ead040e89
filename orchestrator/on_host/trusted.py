"""May anybody but this user and root change what lies in a folder, or exchange the folder?

The rule is that of sshd for ~/.ssh: every part of the way is this user's or root's, and nobody else may write there. A
folder that everybody may write in, such as /tmp, is on the way of many; there the sticky bit keeps names from others.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from typing import Union

Path = Union[str, "os.PathLike[str]"]


def objection(folder: Path) -> str | None:
    """Why the folder is not this user's alone, as one sentence that names who and what; None where it is.

    What does not exist yet is judged by the part of the way that does. Inside the home folder the way begins there:
    what lies above is the administrator's.
    """
    home = os.path.realpath(os.path.expanduser("~"))
    lexical, real = os.path.abspath(folder), os.path.realpath(folder)
    for path in dict.fromkeys([*_way(lexical, home), *_way(real, home)]):
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            return f"{path} cannot be looked at: {error.strerror or error}"
        found = _of_others(path, status, sticky_will_do=path not in (lexical, real))
        if found:
            return found
    return None


def _way(path: str, home: str) -> Iterator[str]:
    """The path and the folders above it, the uppermost last."""
    while True:
        yield path
        above = os.path.dirname(path)
        if path in (home, above):
            return
        path = above


def _of_others(path: str, status: os.stat_result, *, sticky_will_do: bool) -> str | None:
    if status.st_uid not in (0, os.geteuid()):
        what = f"{path}, a link," if stat.S_ISLNK(status.st_mode) else path
        return f"{what} belongs to {_user(status.st_uid)}, not to {_user(os.geteuid())}"
    mode = status.st_mode
    if stat.S_ISLNK(mode) or (mode & stat.S_ISVTX and sticky_will_do):
        return None
    if open_to_others(status):
        return f"{path} may be written by others (mode {stat.S_IMODE(mode):04o}); chmod go-w takes that away"
    return None


def open_to_others(status: os.stat_result) -> bool:
    """Whether anybody but its owner and root may write in a folder."""
    return bool(status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _own_group(status)))


def _own_group(status: os.stat_result) -> bool:
    """Whether it is the group that a user has for itself alone, in which files are writable by default (umask 002)."""
    try:
        group, owner = grp.getgrgid(status.st_gid), pwd.getpwuid(status.st_uid)
    except KeyError:
        return False
    alone = group.gr_name == owner.pw_name and set(group.gr_mem) <= {owner.pw_name}
    return alone and owner.pw_gid == group.gr_gid


def _user(uid: int) -> str:
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"
