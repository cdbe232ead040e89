"""How are several hosts driven at once?"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

INTERRUPTED_SECONDS = 5.0
"""How long a person who interrupts waits for what cannot be left at once."""


def side_by_side(calls: Sequence[Callable[[], T]], halt: Callable[[], None] = lambda: None) -> list[T]:
    """What each call comes to, in their order. One is made here, several in a thread each.

    The first error is raised once all have ended; `halt` is called as soon as there is one, or a person interrupts.
    """
    if len(calls) == 1:
        return [calls[0]()]
    ends: dict[int, T] = {}
    errors: list[BaseException] = []

    def make(number: int, call: Callable[[], T]) -> None:
        try:
            ends[number] = call()
        except BaseException as error:
            errors.append(error)
            halt()

    threads = [threading.Thread(target=make, args=numbered, daemon=True) for numbered in enumerate(calls)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        halt()
        for thread in threads:
            thread.join(INTERRUPTED_SECONDS)
        raise
    if errors:
        raise errors[0]
    return [ends[number] for number in range(len(calls))]
