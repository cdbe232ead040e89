"""How are several hosts driven at once?"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

INTERRUPTED_SECONDS = 5.0
"""How long a person who interrupts waits for what cannot be left at once."""


def side_by_side(
    calls: Sequence[Callable[[], T]], halt: Callable[[], None] = lambda: None, *, at_once: int | None = None
) -> list[T]:
    """What each call comes to, in their order. One is made here, of several so many `at_once` in a thread each, all unless told.

    The first error is raised once all have ended; `halt` is called as soon as there is one, or a person interrupts. Where
    they take turns, none is begun after either.
    """
    if len(calls) == 1:
        return [calls[0]()]
    ends: dict[int, T] = {}
    errors: list[BaseException] = []
    waiting = deque(enumerate(calls))

    def go_on() -> None:
        while waiting:
            try:
                number, call = waiting.popleft()
            except IndexError:  # another thread took the last one
                return
            try:
                ends[number] = call()
            except BaseException as error:
                errors.append(error)
                if at_once is not None:
                    waiting.clear()
                halt()

    count = len(calls) if at_once is None else min(at_once, len(calls))
    threads = [threading.Thread(target=go_on, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        waiting.clear()
        halt()
        for thread in threads:
            thread.join(INTERRUPTED_SECONDS)
        raise
    if errors:
        raise errors[0]
    return [ends[number] for number in range(len(calls))]
