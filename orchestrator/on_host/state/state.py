"""Where does a deployment keep its state on the host, and how is it written so that nothing is lost?"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orchestrator.on_host.files import regular_file, trusted
from orchestrator.on_host.files.exchanged import exchanged
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.secrets.secrets import redacted

JOURNAL_BYTES = 64 << 20
"""A record takes some kilobytes; a journal that is longer is nobody's work."""
_FILE_BYTES = 64 << 20
_INSTANCE = r"[A-Za-z0-9][A-Za-z0-9._-]*"


def state_folder(instance: str) -> Path:
    """The state folder of a deployment (`instance`: its name) on this host, made (0700) where it is missing.

    Raises Refusal("state_folder") where it cannot be made, or where others could change what it says: what is found
    there decides which processes are ended and which bytes are written.
    """
    folder = known_folder(instance)
    try:
        trusted.make(folder)
    except OSError as error:
        why = f"cannot make {folder}: {error.strerror or error}; XDG_STATE_HOME may name another place"
        raise Refusal("state_folder", why) from error
    return folder


def known_folder(instance: str) -> Path:
    """The same for whoever only looks: it may be missing. Raises as `state_folder` does."""
    if not re.fullmatch(_INSTANCE, instance):
        raise Refusal("instance_name", f"{instance!r} cannot name a state folder")
    folder = _base() / instance
    objection = trusted.objection(folder)
    if objection:
        raise Refusal("state_folder", f"no state is kept in {folder}: {objection}")
    return folder


def instances() -> list[str]:
    """The names of the deployments that have a state folder here."""
    try:
        names = os.listdir(_base())
    except OSError:
        return []
    return sorted(name for name in names if re.fullmatch(_INSTANCE, name))


def _base() -> Path:
    base = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):  # the XDG specification says to ignore relative paths
        home = os.path.expanduser("~")
        if not os.path.isabs(home):
            raise Refusal("state_folder", f"uid {os.geteuid()} has no home folder; set XDG_STATE_HOME")
        base = os.path.join(home, ".local", "state")
    return Path(base) / "deploy"


def opened(path: Path, flags: int) -> int:
    """A descriptor of a file of the state folder, made (0600) where it is missing; raises Refusal("state_folder").

    A link is not followed, a pipe not waited for.
    """
    try:
        descriptor = os.open(
            path, flags | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, 0o600
        )
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        why = "is a link" if error.errno == errno.ELOOP else error.strerror or error
        raise Refusal("state_folder", f"{path} cannot be opened: {why}; move it away") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Refusal("state_folder", f"{path} is not a regular file; move it away")
    return descriptor


def machine_id() -> str:
    """An identity of this machine that a home folder shared over NFS does not share."""
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        with contextlib.suppress(OSError):
            text = Path(path).read_text().strip()
            if text:
                return text
    return os.uname().nodename


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def now() -> str:
    """Host time, UTC, ISO 8601 to the millisecond."""
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{milliseconds:03}+00:00"


@contextlib.contextmanager
def at_work(folder: Path) -> Iterator[None]:
    """While this is open the lock on this deployment goes to nobody new (`on_host/programs/lock.py`).

    A program goes on when its deployer is killed or its connection is lost: what it changes is in place before the
    next deployer looks.
    """
    descriptor = opened(folder / "work", os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file so that a reader sees the old one or the new one, never half of it."""
    with exchanged(path, prefix=f".{path.name}.") as file:
        file.write(f"{json.dumps(value, indent=1)}\n".encode())


def read_json(path: Path) -> Any:
    """The value in a JSON file, or None where the file is missing or broken."""
    return regular_file.read_json(path, _FILE_BYTES)


def append(folder: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Append one record to the journal, without secrets, on disk before this returns; gives it back with its time."""
    stamped = {"at": now(), "machine": machine_id(), **redacted(record)}
    line = (json.dumps(stamped, separators=(",", ":")) + "\n").encode()
    descriptor = opened(folder / "journal.jsonl", os.O_RDWR | os.O_APPEND)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":  # a writer died in the middle of its line
            line = b"\n" + line
        while line:  # a full disk may take a part; the rest then raises, and the cut line is passed over
            line = line[os.write(descriptor, line) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return stamped


def records(folder: Path) -> list[dict[str, Any]]:
    """The journal's records, oldest first; a line cut off by a crash is left out.

    Raises Refusal("state_folder") for a journal that is there and cannot be read: what was done is not known then.
    """
    path = folder / "journal.jsonl"
    if not os.path.lexists(path):
        return []
    try:
        raw = regular_file.read(path, JOURNAL_BYTES)
    except regular_file.Unfit as why:
        raise Refusal("state_folder", f"{path}: {why}; move it away") from why
    readable = []
    for line in raw.split(b"\n"):
        with contextlib.suppress(ValueError, RecursionError):
            record = json.loads(line)
            if isinstance(record, dict):
                readable.append(record)
    return readable
