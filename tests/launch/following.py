"""A host whose log and states are what a test puts in, for tests of what follows a launch."""

from __future__ import annotations

import queue
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.jobs import Answering


class Feed:
    """A stream of a host that gives what a test puts in, until it is closed."""

    def __init__(self) -> None:
        self._arriving: queue.Queue[Any] = queue.Queue()

    def put(self, *values: Any) -> None:
        for value in values:
            self._arriving.put(value)

    def values(self) -> Iterator[Any]:
        while (value := self._arriving.get()) is not None:
            yield value

    chunks = values

    def close(self) -> None:
        self._arriving.put(None)


class Following(Answering):
    """A host with a log and a `watch` program; answers other programs as `Answering` does."""

    def __init__(self, **answers: Any) -> None:
        super().__init__(**{"stacks": {"files": []}, **answers})
        self.states, self.log = Feed(), Feed()

    def stream_script(self, module: str, request: Mapping[str, Any]) -> Any:
        self.asked.append((module, request))
        return self.states

    def stream(self, argv: Sequence[str]) -> Any:
        self.asked.append(("stream", argv))
        return self.log
