"""What can be asked of a host, whether it is reached over SSH or is this machine?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Completed:
    """A finished command: exit status, and its output as bytes (a parser decodes them)."""

    rc: int
    stdout: bytes
    stderr: bytes


class Stream(ABC):
    """A running command on a channel of its own."""

    @abstractmethod
    def chunks(self) -> Iterator[bytes]:
        """Standard output as it comes, until the command ends or `close` is called from any thread."""

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Send bytes to the command's standard input."""

    @abstractmethod
    def close(self) -> None:
        """Close the channel (its input ends, so does a program that lives by it); harmless when repeated."""


class ScriptStream(ABC):
    """A running `on_host` program that answers several times."""

    @abstractmethod
    def values(self) -> Iterator[Any]:
        """Its answers as they come; raises the error it reports, ends when it ends."""

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Send bytes to the program's standard input."""

    @abstractmethod
    def close(self) -> None:
        """Close the channel; harmless when repeated."""


class Host(ABC):
    """A host with an open connection.

    Every call has a deadline in seconds; past it `HostError("deadline")` is raised. A command that may
    have run is never run again by the driver.
    """

    name: str
    """As the person typed it."""
    address: str
    """Where clients reach what listens openly on it: a host name or address, without user and port."""
    python: str
    """The interpreter on the host that runs `on_host` programs; `python3` unless that is missing."""
    other_python: str | None
    """Another interpreter, taken for good where `python` is missing or too old when a program is first run."""

    @abstractmethod
    def run(self, command: str, *, deadline: float = 30.0) -> Completed:
        """Run sh text in the persistent `/bin/sh` (one round trip); standard input is empty."""

    @abstractmethod
    def script(
        self,
        module: str,
        request: Mapping[str, Any],
        *,
        deadline: float = 30.0,
        private: bool = False,
        installed_beside: str | None = None,
    ) -> Any:
        """Run `on_host/programs/MODULE.py` and return its answer.

        `private` sends the request on a channel of its own, so that a secret in it passes through no
        shell. `installed_beside` names another interpreter, whose installed packages the program may import.
        """

    @abstractmethod
    def stream_script(self, module: str, request: Mapping[str, Any]) -> ScriptStream:
        """Start `on_host/programs/MODULE.py` on a channel of its own."""

    @abstractmethod
    def stream(self, argv: Sequence[str]) -> Stream:
        """Start a command on a channel of its own."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection; nothing on the host is ended by it."""

    def __enter__(self) -> Host:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
