"""How far has a file come that other hosts give, and is it what it should be?

It is written beside the checkpoint where the Hub client keeps its own, under a name of ours: what that client continues it does
not hash.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time

from orchestrator.on_host.checkpoint.hub_files import CACHE, RemoteFile, metadata

_READ = 8 << 20
_OURS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class Torn(Exception):
    """What had come of a file is not there any more: somebody took it away, or had it before this host was done."""


class FileUnderWay:
    """A file of a commit on its way into a folder. What an earlier run left of it counts; it is hashed when it is first needed."""

    def __init__(self, folder: str, file: RemoteFile) -> None:
        self._folder, self._file = folder, file
        short = hashlib.sha256(file.name.encode()).hexdigest()[:20]
        self._path = os.path.join(folder, CACHE, f"given-{short}.{file.etag}.incomplete")
        self.at = 0
        """Bytes that are written and hashed."""
        self._begin()
        with contextlib.suppress(OSError), open(self._path, "rb") as begun:
            for block in iter(lambda: begun.read(_READ), b""):
                self._hash(block)
        if self.at > file.size:
            self.drop()

    def _begin(self) -> None:
        self.at = 0
        self._digest = hashlib.sha256() if self._file.sha256 else hashlib.sha1(usedforsecurity=False)
        if not self._file.sha256:  # git's id of the file
            self._digest.update(b"blob %d\0" % self._file.size)

    def _hash(self, block: bytes | memoryview) -> None:
        self._digest.update(block)
        self.at += len(block)

    def append(self, block: bytes | memoryview) -> None:
        """Write what follows. Raises Torn, after which it begins anew."""
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        descriptor = os.open(self._path, _OURS, 0o666)
        try:
            if (
                os.fstat(descriptor).st_size < self.at
            ):  # zeros would stand where nobody wrote, which no hash here has seen
                self.drop()
                raise Torn
            left, place = memoryview(block), self.at
            while left:  # a full disk may take a part
                written = os.pwrite(descriptor, left, place)
                left, place = left[written:], place + written
        finally:
            os.close(descriptor)
        self._hash(block)

    @property
    def right(self) -> bool:
        """Whether all of it has come, and is the file."""
        return self.at == self._file.size and self._digest.hexdigest() == self._file.etag

    def drop(self) -> None:
        """Begin anew."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)
        self._begin()

    def place(self, commit: str) -> None:
        """Put it where it belongs, with the note that the Hub client makes of what it fetched."""
        if not self._file.size:
            self.append(b"")
        target, noted = os.path.join(self._folder, self._file.name), metadata(self._folder, self._file.name)
        for path in (target, noted):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        os.replace(self._path, target)
        with open(noted, "w") as note:
            note.write(f"{commit}\n{self._file.etag}\n{time.time()}\n")
