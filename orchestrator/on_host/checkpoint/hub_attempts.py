"""How often is something asked of the Hub again?"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from orchestrator.on_host.checkpoint.hub_errors import TRANSIENT, DownloadFailure, code_of, sentence_of
from orchestrator.on_host.state import state

FIRST_WAIT_SECONDS = 1.0


def persist(step: Callable[[], Any], subject: str, attempts: int, stop: threading.Event | None = None) -> Any:
    """The step's result; tried again, with growing waits, as long as the failure may pass by itself."""
    halt = stop or threading.Event()
    for attempt in range(attempts):
        try:
            return step()
        except Exception as error:
            code = error.code if isinstance(error, DownloadFailure) else code_of(error)
            why = error.message if isinstance(error, DownloadFailure) else sentence_of(error)
            print(f"{state.now()} {subject}: {why}", file=sys.stderr, flush=True)
            if code not in TRANSIENT or attempt + 1 == attempts or halt.wait(FIRST_WAIT_SECONDS * 2**attempt):
                raise DownloadFailure(code, f"{subject}: {why}") from error
    raise AssertionError("attempts is at least 1")
