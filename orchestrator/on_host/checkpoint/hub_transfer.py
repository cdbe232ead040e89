"""How are files fetched side by side, from other hosts or the Hub, and how far are they?"""

from __future__ import annotations

import os
import queue
import random
import threading
import time
from collections.abc import Callable
from typing import Any

from orchestrator.on_host.checkpoint import hub_files, hub_leftovers
from orchestrator.on_host.checkpoint.hub_attempts import persist
from orchestrator.on_host.checkpoint.hub_errors import DownloadFailure, code_of, sentence_of
from orchestrator.on_host.checkpoint.hub_files import RemoteFile
from orchestrator.on_host.checkpoint.hub_repository import HubRepository
from orchestrator.on_host.checkpoint.peers import GivingPeers, Later

WORKERS = 4
ATTEMPTS = 6
"""Tries for one file; the wait doubles from one to the next, 31 seconds in all."""
LATER_SECONDS = 0.1
"""After which the next file is asked for where nobody had one yet."""
TICK_SECONDS = 0.5
_RATE_SECONDS = 15.0

Say = Callable[[dict[str, Any]], None]


class Transfer:
    """One download under way: its workers and how far they are."""

    def __init__(
        self,
        hub: HubRepository,
        peers: GivingPeers,
        folder: str,
        files: list[RemoteFile],
        todo: list[RemoteFile],
    ) -> None:
        self.hub, self.peers, self.folder = hub, peers, folder
        self.total, self.count = sum(file.size for file in files), len(files)
        self.done_bytes = self.total - sum(file.size for file in todo)
        self.done_files = len(files) - len(todo)
        self.waiting, self.turn = list(todo), threading.Lock()
        self.left = len(todo)
        self.ends: queue.SimpleQueue[tuple[RemoteFile, DownloadFailure | None]] = queue.SimpleQueue()
        self.under_way: dict[str, RemoteFile] = {}
        self.stop = threading.Event()
        self.orphans = {
            p
            for paths in hub_leftovers.partials(folder).values()
            for p in paths
            if not hub_leftovers.continued(p)
        }
        self.history: list[tuple[float, int]] = []

    def carry_out(self, say: Say) -> None:
        """Fetch what is waiting, telling progress twice a second; the first failure ends it at once.

        Workers are daemons: a failure is told without waiting for the other transfers.
        """
        workers = min(WORKERS, self.left)
        helped = workers // 2 if self.peers.have_helpers else 0
        for number in range(workers):
            threading.Thread(target=self._work, args=(number < helped,), daemon=True).start()
        say(self._progress())
        last = time.monotonic()
        try:
            while self.left:
                self._take_end(last + TICK_SECONDS - time.monotonic())
                if time.monotonic() - last >= TICK_SECONDS or not self.left:
                    say(self._progress())
                    last = time.monotonic()
        finally:
            self.stop.set()

    def _take_end(self, seconds: float) -> None:
        try:
            file, failure = self.ends.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return
        if failure is not None:
            raise failure
        self.left -= 1
        self.done_files += 1
        self.done_bytes += file.size

    def _work(self, helped: bool) -> None:
        """Until all is there: what another worker has in hand may have to wait again. `helped`: take what helpers have, beside
        those who take from the source what helpers have not: so no link is idle."""
        while not self.stop.is_set():
            file = self._next(helped)
            if file is None:
                self.stop.wait(LATER_SECONDS)
                continue
            self.under_way[file.name] = file
            failure = None
            try:
                if not self.peers.fetch(file, helped=helped):
                    persist(lambda: self._fetch(file), file.name, ATTEMPTS, self.stop)  # noqa: B023
            except Later:
                self.under_way.pop(file.name, None)
                self.waiting.append(file)
                self.stop.wait(LATER_SECONDS)
                continue
            except DownloadFailure as error:
                lost = f"; {self.peers.lost}" if self.peers.lost else ""
                failure = DownloadFailure(error.code, f"{error.message}{lost}")
            except OSError as error:
                failure = DownloadFailure(code_of(error), f"{file.name}: {sentence_of(error)}")
            self.under_way.pop(file.name, None)
            self.ends.put((file, failure))

    def _next(self, helped: bool) -> RemoteFile | None:
        """The first that waits; with helpers, who began elsewhere, any of the later half."""
        with self.turn:
            count = len(self.waiting)
            return self.waiting.pop(random.randrange(count // 2, count) if helped else 0) if count else None

    def _fetch(self, file: RemoteFile) -> None:
        self.hub.fetch(file.name)
        size = hub_leftovers.size_of(os.path.join(self.folder, file.name))
        whole = hub_files.sound(self.folder, file.name) or hub_files.exactly(self.folder, file)
        if size != file.size or not whole:
            hub_leftovers.clear(self.folder, [file])
            raise DownloadFailure("download_failed", f"arrived broken, {size} of {file.size} bytes")

    def _progress(self) -> dict[str, Any]:
        running = list(self.under_way.values())
        begun = hub_leftovers.partials(self.folder) if running else {}
        at = self.done_bytes
        for file in running:
            sizes = [
                hub_leftovers.size_of(p) for p in begun.get(file.etag or "", []) if p not in self.orphans
            ]
            at += min(file.size, max(sizes, default=0))
        rate = self._rate(at)
        return {
            "bytes": at,
            "total": self.total,
            "files_done": self.done_files,
            "files": self.count,
            "rate": rate,
            "eta_seconds": round((self.total - at) / rate) if rate else None,
            "file": min(self.under_way, default=None),
        }

    def _rate(self, at: int) -> int:
        """Bytes a second over the last moments; never negative where a transfer began anew."""
        now = time.monotonic()
        self.history = [(t, b) for t, b in self.history if now - t <= _RATE_SECONDS] + [(now, at)]
        (since, before) = self.history[0]
        return max(0, round((at - before) / (now - since))) if now > since else 0
