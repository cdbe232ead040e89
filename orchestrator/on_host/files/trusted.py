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

_NAME_SERVICES = "/etc/nsswitch.conf"
_ACCOUNTS = ("passwd", "group", "initgroups")
_LOCAL = {"files", "systemd", "altfiles"}

Path = Union[str, "os.PathLike[str]"]


def objection(folder: Path) -> str | None:
    """Why the folder is not this user's alone, as one sentence that names who and what; None where it is.

    What does not exist yet is judged by the part of the way that does. Inside the home folder the way begins there:
    what lies above is the administrator's. A group that may not enter a folder cannot write in those below it: a home of
    0700 and a umask of 002 are ordinary where users share a group.
    """
    home = os.path.realpath(os.path.expanduser("~"))
    for whole in dict.fromkeys((os.path.abspath(folder), os.path.realpath(folder))):
        closed = False
        for path in reversed(list(_way(whole, home))):
            try:
                status = os.lstat(path)
            except FileNotFoundError:
                break
            except OSError as error:
                return f"{path} cannot be looked at: {error.strerror or error}"
            reason = _of_others(path, status, sticky_will_do=path != whole, closed=closed)
            if reason:
                return reason
            closed = closed or _closed_to_others(status)
    return None


def _way(path: str, home: str) -> Iterator[str]:
    """The path and the folders above it, the uppermost last."""
    while True:
        yield path
        above = os.path.dirname(path)
        if path in (home, above):
            return
        path = above


def _of_others(path: str, status: os.stat_result, *, sticky_will_do: bool, closed: bool) -> str | None:
    if status.st_uid not in (0, os.geteuid()):
        name = f"{path}, a link," if stat.S_ISLNK(status.st_mode) else path
        theirs = f"{name} belongs to {_user(status.st_uid)}, not to {_user(os.geteuid())}"
        return f"{theirs}; XDG_STATE_HOME may name another place"
    mode = status.st_mode
    if stat.S_ISLNK(mode) or (mode & stat.S_ISVTX and sticky_will_do):
        return None
    if mode & stat.S_IWOTH or (open_to_others(status) and not closed):
        return f"{path} may be written by others (mode {stat.S_IMODE(mode):04o}); chmod go-w takes that away"
    return None


def make(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for this user alone.

    `os.makedirs` gives its mode to the last alone: with a umask of 002 or 000 the others would be open to all from then on.
    """
    missing = []
    path = os.path.abspath(folder)
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    for path in (*reversed(missing), os.path.abspath(folder)):
        try:
            os.mkdir(path, mode=0o700)
        except FileExistsError:  # somebody else was quicker, or it was there
            if not os.path.isdir(path):
                raise


def open_to_others(status: os.stat_result) -> bool:
    """Whether anybody but its owner and root may write in a folder."""
    return bool(status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _own_group(status)))


def _closed_to_others(status: os.stat_result) -> bool:
    """Whether nobody but its owner and root may enter a folder."""
    mode = status.st_mode
    entered_by_group = mode & stat.S_IXGRP and not _own_group(status)
    return stat.S_ISDIR(mode) and not mode & stat.S_IXOTH and not entered_by_group


def _own_group(status: os.stat_result) -> bool:
    """Whether nobody but the owner and root is in the group, so that files are writable for it by default (umask 002).

    Either it is the group that a user has for itself alone, or all accounts are known and none is another's: in the images
    of Jupyter the one user's group is `users`, and its home folder has the mode 2775.
    """
    try:
        group = grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    try:
        owner = pwd.getpwuid(status.st_uid)
    except KeyError:  # a container may run as a user whom it does not list
        owner = None
    if not set(group.gr_mem) <= {"root", owner.pw_name if owner else "root"}:
        return False
    if owner and (group.gr_name, group.gr_gid) == (owner.pw_name, owner.pw_gid):
        return True
    others = (account for account in pwd.getpwall() if account.pw_uid not in (0, status.st_uid))
    return _accounts_are_all_local() and all(account.pw_gid != status.st_gid for account in others)


def _accounts_are_all_local() -> bool:
    """Whether a list of all accounts is complete: directory services such as LDAP seldom give one."""
    try:
        with open(_NAME_SERVICES, errors="replace") as file:
            lines = [line.partition("#")[0].partition(":") for line in file]
    except OSError:  # musl has no such file, and no such services
        return True
    services = {source for key, _, sources in lines if key.strip() in _ACCOUNTS for source in sources.split()}
    return services <= _LOCAL


def _user(uid: int) -> str:
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"
