"""How does a test wait for something that happens elsewhere, without sleeping longer than it takes?"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE_SECONDS = 20.0


def eventually(check: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
    """The first true answer of a check that is asked every few milliseconds."""
    give_up = time.monotonic() + seconds
    while not (answer := check()):
        assert time.monotonic() < give_up, "it never came true"
        time.sleep(0.005)
    return answer
