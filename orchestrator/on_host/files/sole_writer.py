"""Is this process the only one that writes here, as far as the file system can tell?"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from pathlib import Path

_NO_FLOCK = (errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)
_POLL_SECONDS = 0.02


def locked(descriptor: int, *, patience_seconds: float = 0.0) -> bool:
    """Take the lock of an open file or folder until the descriptor is closed; False where another process has it.

    Some network file systems know no flock, on a folder or at all: there nobody is kept out.
    """
    give_up = time.monotonic() + patience_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= give_up:
                return False
            time.sleep(_POLL_SECONDS)
        except OSError as error:
            if error.errno not in _NO_FLOCK:
                raise
            return True


def held(path: Path) -> bool:
    """Whether another process has the lock of this file; one that is not there nobody has."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks tells nothing
        return False
    finally:
        os.close(descriptor)
    return False
