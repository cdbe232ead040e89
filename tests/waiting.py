"""How does a test wait for something that happens elsewhere, or ask that it is quick, on a machine that may be busy?"""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

PATIENCE_SECONDS = 60.0
"""Nothing that a test waits for takes so long, however much else the machine has to do."""
TRIES = 10


def eventually(check: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
    """The first true answer of a check that is asked every few milliseconds."""
    give_up = time.monotonic() + seconds
    while not (answer := check()):
        assert time.monotonic() < give_up, "it never came true"
        time.sleep(0.005)
    return answer


def takes_less_than(seconds: float, measure: Callable[[], float]) -> None:
    """Assert that what `measure` does (and gives the seconds of) is quick. What is slow by itself is slow every time;
    what had to wait for a processor is tried again."""
    took: list[float] = []
    while not took or (took[-1] >= seconds and len(took) < TRIES):
        took.append(measure())
    assert min(took) < seconds, took


@contextlib.contextmanager
def running(argv: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process that is over when its test is, whatever became of the test: one that waits for it would wait for good."""
    with subprocess.Popen(argv, **options) as process:
        try:
            yield process
        finally:
            process.kill()
