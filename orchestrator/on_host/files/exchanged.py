"""How is a file exchanged so that a reader sees the old one or the new one, never half of it?"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def exchanged(path: Path, *, prefix: str) -> Iterator[BinaryIO]:
    """A file beside `path`, its name begun with `prefix`, to write into: on disk and in that one's place when this ends.

    Nothing of it is left where an error ends this.
    """
    # Not by tempfile: who only looks would import it too, which takes as long as the looking.
    name = path.parent / f"{prefix}{os.urandom(8).hex()}"
    descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
