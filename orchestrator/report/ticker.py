"""Who looks at the clock while nothing happens?"""

from __future__ import annotations

import threading
from collections.abc import Callable


class Ticker:
    """Calls `tick` every so many seconds from a thread of its own, until it is stopped or cannot write any more."""

    def __init__(self, tick: Callable[[], None], seconds: float) -> None:
        self._tick = tick
        self._seconds = seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=1.0)

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds):
            try:
                self._tick()
            except (OSError, ValueError):  # the reader left; who writes next hears of it
                return
