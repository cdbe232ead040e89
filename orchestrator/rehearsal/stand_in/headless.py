"""What does a host start that only computes for the head: no HTTP port, no word of being ready?"""

from __future__ import annotations

import os
import signal
import sys
import time

from . import VERSION, api_server, frames
from .core import WORKERS_FAILED
from .printing import emit, pause, say, traceback
from .ranks import LOOK_SECONDS, LocalRanks
from .settings import StandInSettings, read

NAME = "MainProcess"


def main() -> None:
    """`serve MODEL`, headless or not; the exit status is vLLM's."""
    settings = read(sys.argv[1:])
    if settings.given.get("headless"):
        Headless(settings).run()
    else:
        api_server.main()


class Headless:
    """The process that starts the ranks of such a host and ends when they do."""

    def __init__(self, settings: StandInSettings) -> None:
        self._settings = settings
        self._ranks = LocalRanks(settings)

    def run(self) -> None:
        """Bring the ranks up and wait for their end; never returns."""
        settings = self._settings
        pause(0.6)
        api_server.resolve(NAME, settings)
        where = (
            f"head node address {settings.head}:{settings.meeting_port} for torch.distributed process group."
        )
        say(
            NAME,
            "INFO",
            "serve.py:153",
            f"Launching vLLM (v{VERSION}) headless multiproc executor, with {where}",
        )
        signal.signal(signal.SIGTERM, self._leave)
        if not (self._ranks.come_up() and self._ranks.all_step()):
            self._fail()
        self._stay()

    def _fail(self) -> None:
        waits = f"[shutdown] Executor: waiting for worker exit count={len(self._ranks.pids)}"
        say(NAME, "INFO", "multiproc_executor.py:479", waits)
        emit(f"{traceback(frames.HEADLESS, WORKERS_FAILED)}\n")
        sys.exit(1)

    def _stay(self) -> None:
        """Until a rank dies: a head that is gone is not noticed."""
        while (dead := self._ranks.killed()) is None:
            time.sleep(LOOK_SECONDS)
        rank, number = dead
        died = (
            f"Worker proc VllmWorker-{rank} died unexpectedly (exit code: -{number}), shutting down executor."
        )
        say(NAME, "ERROR", "multiproc_executor.py:315", died)
        self._ranks.kill()
        os._exit(0)

    def _leave(self, *_: object) -> None:
        """Its ranks do not end by TERM, which it learns the slow way."""
        count = len(self._ranks.pids)
        waits = f"[shutdown] Executor: waiting for worker exit count={count}"
        say(NAME, "INFO", "multiproc_executor.py:479", waits)
        pause(5.0)
        late = "[shutdown] Executor: workers still running after"
        say(
            NAME,
            "WARNING",
            "multiproc_executor.py:491",
            f"{late} grace period; sending SIGTERM count={count}",
        )
        self._ranks.kill(signal.SIGTERM)
        pause(4.0)
        say(NAME, "WARNING", "multiproc_executor.py:501", f"{late} SIGTERM; sending SIGKILL count={count}")
        self._ranks.kill()
        os._exit(0)
