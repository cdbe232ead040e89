"""How does one long-lived `/bin/sh` run many commands, one after the other, without mixing them up?

Each command is framed on standard output and on standard error by a token that nobody can guess.
What comes before the first token (banners, rc files) and between two commands (a background process
that still prints) is dropped. The first command travels with the start of the shell: no extra wait.
"""

from __future__ import annotations

import secrets

from orchestrator.base.errors import HostError
from orchestrator.hosts.host import Completed
from orchestrator.hosts.pipes import Pipes, deadline_passed
from orchestrator.hosts.quoting import quote


class Framing:
    """The text that frames one command, and what has come back of one of its two outputs."""

    def __init__(self) -> None:
        self._halves = (secrets.token_hex(12), secrets.token_hex(12))
        # The shell joins the halves: a shell that echoes its input never prints the token itself.
        self.token = "".join(self._halves).encode("ascii")

    def around(self, command: str) -> bytes:
        """The sh text: the command in a subshell, so that `exit`, `cd` and syntax errors stay in it."""
        first, second = self._halves
        begin = f"printf '%s%s\\n' {first} {second}"
        return (
            f"{begin}; {begin} >&2\n"
            f"(eval {quote(' ' + command)}) </dev/null\n"  # the blank: eval takes a leading '-' for an option
            f"printf '\\n%s%s %d\\n' {first} {second} $?; printf '\\n%s%s 0\\n' {first} {second} >&2\n"
        ).encode("utf-8", "surrogateescape")


class Framed:
    """One output of a framed command, as it arrives."""

    def __init__(self, token: bytes) -> None:
        self._begin = token + b"\n"
        self._end = b"\n" + token + b" "
        self._data = bytearray()
        self._started = False
        self._looked = 0
        self.status: int | None = None

    def feed(self, chunk: bytes) -> None:
        self._data += chunk
        if not self._started:
            self._drop_noise()
        if self._started and self.status is None:
            self._find_end()

    def _drop_noise(self) -> None:
        at = self._data.find(self._begin)
        if at >= 0:
            del self._data[: at + len(self._begin)]
            self._started = True
        else:
            del self._data[: -len(self._begin)]

    def _find_end(self) -> None:
        at = self._data.find(self._end, max(0, self._looked - len(self._end)))
        self._looked = len(self._data)
        if at < 0:
            return
        line_end = self._data.find(b"\n", at + len(self._end))
        if line_end < 0:
            self._looked = at
            return
        self.status = int(self._data[at + len(self._end) : line_end])
        del self._data[at:]

    def bytes(self) -> bytes:
        return bytes(self._data)


class Shell:
    """A `/bin/sh` behind three pipes; one command at a time (the caller holds the lock)."""

    def __init__(self, host: str, pipes: Pipes) -> None:
        self._host = host
        self._pipes = pipes

    def run(self, command: str, *, deadline: float, until: float, subject: str) -> Completed:
        """Run one command, named `what` in messages; `until` is when its deadline of so many seconds ends.

        Raises HostError: `deadline` (seconds), `shell_lost`, `connection_lost`; after any of them the
        shell is of no more use and must be discarded.
        """
        frame = Framing()
        out, err = Framed(frame.token), Framed(frame.token)
        try:
            self._send(frame.around(command), until)
            while out.status is None or err.status is None:
                chunks = self._pipes.receive(until)
                if chunks is None:
                    raise self._lost(err, until)
                out.feed(chunks[0])
                err.feed(chunks[1])
        except TimeoutError:
            raise deadline_passed(self._host, deadline, subject) from None
        return Completed(out.status, out.bytes(), err.bytes())

    def _send(self, data: bytes, until: float) -> None:
        try:
            self._pipes.send(data, until)
        except TimeoutError:
            raise
        except OSError:  # the shell is gone; what it said last, and its status, can still be read
            return

    def _lost(self, err: Framed, until: float) -> HostError:
        status = self._pipes.status(until)
        output = err.bytes().decode(errors="replace").strip()[-500:]
        return HostError(
            "shell_lost",
            f"The shell on {self._host} ended with status {status} in the middle of a command"
            f"{': ' + output if output else ''}.",
        )

    def close(self) -> None:
        self._pipes.close()

    def discard(self) -> None:
        self._pipes.discard()


def brief(command: str) -> str:
    """A command as it is named in a message: one line, at most 60 characters."""
    line = " ".join(command.split())
    return repr(line if len(line) <= 60 else line[:57] + "...")
