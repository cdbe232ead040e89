"""How is a file exchanged so that a reader sees the old one or the new one, never half of it?"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def exchanged(path: Path, *, prefix: str) -> Iterator[BinaryIO]:
    """A file beside `path`, its name begun with `prefix`, to write into: on disk and in that one's place when this ends.

    Nothing of it is left where an error ends this.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=prefix)
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
