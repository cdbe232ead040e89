"""Which files of a checkpoint come from other hosts that have them?

Each is judged by the hash by which the source has it from the Hub, and which the controller brought: what another host makes of
it on the way is noticed. What was begun is continued, by whoever has the file.
"""

from __future__ import annotations

import http.client
import random
import sys
import threading
import time
from typing import Any
from urllib.parse import quote

from orchestrator.on_host.checkpoint.file_under_way import FileUnderWay, Torn
from orchestrator.on_host.checkpoint.hub_files import RemoteFile
from orchestrator.on_host.secrets import secrets
from orchestrator.on_host.state import state

SILENT_SECONDS = 20.0
"""After which a host that sends nothing counts as lost."""
_LOST = 3
"""Failures in a row, of whichever files, after which a host is asked for nothing any more."""
_HELPERS = 3
"""How many others are asked for a file before the source, which may have a hundred to serve."""
_BLOCK = 1 << 20


class Later(Exception):
    """Nobody has the file yet, and the source will, or may answer again."""


class _Lost(Exception):
    """A host does not answer, or fell silent."""


class _Peer:
    """Another host that gives files."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.name: str = known["name"]
        self._place = (known["address"], known["port"])
        self._word: str = known["word"]
        self._counting = threading.Lock()  # several files come at once
        self.failures = 0
        self._failed = 0.0
        """When it last failed: of several requests that one silence ends, one counts."""
        self.given = 0
        """Bytes."""
        self.without: set[str] = set()
        """Files that are not to be had there."""
        secrets.remember(self._word)

    def fails(self, began: float) -> None:
        """Count a request as failed that began at that moment."""
        with self._counting:
            if began >= self._failed:
                self.failures += 1
                self._failed = time.monotonic()

    def gives(self, name: str) -> bool:
        return self.failures < _LOST and name not in self.without

    def send(self, file: RemoteFile, way: FileUnderWay) -> bool:
        """Whether it sent what is missing of a file, which may be wrong; False where it has not got it. Raises _Lost."""
        connection = http.client.HTTPConnection(*self._place, timeout=SILENT_SECONDS)
        try:
            asked = {"Authorization": f"Bearer {self._word}", "Range": f"bytes={way.at}-"}
            connection.request("GET", f"/{quote(file.name)}", headers=asked)
            with connection.getresponse() as answer:
                if answer.status == 404:
                    self.without.add(file.name)
                if answer.status in (404, 503):
                    return False
                if answer.status != (206 if way.at else 200):
                    raise _Lost(f"it answers {answer.status}")
                self._take(answer, file, way)
        except Torn as torn:
            raise _Lost("what had come of it was taken away") from torn
        except (OSError, http.client.HTTPException) as error:
            raise _Lost(
                f"cut off after {way.at} of {file.size} bytes ({error or type(error).__name__})"
            ) from error
        finally:
            connection.close()
        if way.at < file.size:
            raise _Lost(f"cut off after {way.at} of {file.size} bytes")
        self.failures = 0
        return True

    def _take(self, answer: http.client.HTTPResponse, file: RemoteFile, way: FileUnderWay) -> None:
        room = memoryview(bytearray(_BLOCK))
        while way.at < file.size and (count := answer.readinto(room[: file.size - way.at])):
            try:
                way.append(room[:count])
            except OSError as full:  # of this host's disk, not of the other one
                raise _Unwritten from full
            with self._counting:
                self.given += count


class _Unwritten(Exception):
    """A file cannot be written here; its cause says why."""


class GivingPeers:
    """The hosts from which a folder gets the files of a commit: the first is the source, the others get them as well."""

    def __init__(self, known: list[dict[str, Any]], folder: str, commit: str) -> None:
        self._all = [_Peer(each) for each in known]
        self._folder, self._commit = folder, commit
        self._under_way: dict[str, FileUnderWay] = {}
        self.wrong: list[dict[str, str]] = []
        """Files that were not what they should be, and the host that gave each."""
        self.lost = ""
        """Why one of them gives nothing any more, if that is so."""

    @property
    def given(self) -> dict[str, int]:
        """Bytes by the host that gave them."""
        return {peer.name: peer.given for peer in self._all if peer.given}

    @property
    def have_helpers(self) -> bool:
        return len(self._all) > 1

    def fetch(self, file: RemoteFile, *, helped: bool = False) -> bool:
        """Whether the file came; False where nobody will give it. `helped`: the source is not asked as long as others answer.

        Raises Later, and OSError where it cannot be written.
        """
        if not self._all or not file.etag:
            return False
        way = self._under_way.get(file.name) or FileUnderWay(self._folder, file)
        self._under_way[file.name] = way
        source, *helpers = self._all
        helpers = [peer for peer in helpers if peer.gives(file.name)]
        asked = random.sample(helpers, min(_HELPERS, len(helpers)))
        only_helpers = helped and bool(helpers)
        if not only_helpers and source.gives(file.name):
            asked.append(source)  # the last: its link is shared by all
        if any(self._came(peer, file, way) for peer in asked):
            way.place(self._commit)
            del self._under_way[file.name]
            return True
        if only_helpers or source.gives(file.name):
            raise Later
        way.drop()
        return False

    def _came(self, peer: _Peer, file: RemoteFile, way: FileUnderWay) -> bool:
        begun = way.at > 0  # by another host, or by an earlier run
        asked = time.monotonic()
        try:
            if not peer.send(file, way):
                return False
        except _Unwritten as unwritten:
            assert unwritten.__cause__ is not None
            raise unwritten.__cause__ from None
        except _Lost as lost:
            peer.fails(asked)
            _tell(f"{file.name} from {peer.name}: {lost}")
            if not peer.gives(file.name):
                self.lost = f"{peer.name} gives nothing any more: {file.name}: {lost}"
            return False
        if way.right:
            return True
        way.drop()
        if begun:
            return self._came(peer, file, way)
        _tell(f"{file.name} from {peer.name} has another hash than the repository's")
        peer.without.add(file.name)
        self.wrong.append({"file": file.name, "host": peer.name})
        return False


def _tell(what: str) -> None:
    print(f"{state.now()} {what}", file=sys.stderr, flush=True)
