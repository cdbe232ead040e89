"""How does one long-lived Python on the host run many small programs without starting anew for each?

It is framed like the shell: a token that nobody can guess stands before and after each program's output. Each
program runs in a fork, so that none can spoil the next; a program's modules are sent and loaded once.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from orchestrator.hosts import ship
from orchestrator.hosts.host import Completed
from orchestrator.hosts.pipes import Pipes, deadline_passed
from orchestrator.hosts.shell import Framed


class Runner:
    """A Python behind three pipes; one program at a time (the caller holds the lock)."""

    def __init__(self, host: str, python: str, pipes: Pipes) -> None:
        self._host = host
        self.python = python
        self._pipes = pipes
        self._sent: set[str] = set()

    def run(self, module: str, request: Mapping[str, Any], *, deadline: float, until: float) -> Completed:
        """Run one program; where the interpreter itself ends instead, its status and its last words.

        Raises HostError: `deadline` (seconds), `connection_lost`; the runner is of no more use then, nor when it
        ended.
        """
        token = secrets.token_hex(24).encode("ascii")
        out, err = Framed(token), Framed(token)
        noise = b""
        data = ship.further_bundle(module, request, deadline=deadline, token=token, sent=self._sent)
        try:
            self._send(data, until)
            while out.status is None or err.status is None:
                chunks = self._pipes.receive(until)
                if chunks is None:
                    self.ended = True
                    return Completed(self._pipes.status(until), noise, err.bytes() or noise)
                noise = (noise + b"".join(chunks))[-4096:]
                out.feed(chunks[0])
                err.feed(chunks[1])
        except TimeoutError:
            raise deadline_passed(self._host, deadline, module) from None
        return Completed(out.status, out.bytes(), err.bytes())

    ended = False

    def _send(self, data: bytes, until: float) -> None:
        try:
            self._pipes.send(data, until)
        except TimeoutError:
            raise
        except OSError:  # it is gone; its status and what it said last can still be read
            return

    def close(self) -> None:
        self._pipes.close()

    def discard(self) -> None:
        self._pipes.discard()
