"""How is a program on the host asked with a value, and its answer taken as one?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from orchestrator.base.errors import HostError
from orchestrator.hosts.host import Host
from orchestrator.programs.request import Request

A = TypeVar("A")


def ask(host: Host, request: Request[A], *, deadline: float = 30.0, installed_beside: str | None = None) -> A:
    """Run the program within so many seconds; a request with a secret goes on a channel of its own.

    `installed_beside` names an interpreter whose installed packages the program may import. Raises what `Host.script`
    does, and HostError("host_answer") for an answer that is none of the program's.
    """
    value = host.script(
        request.program,
        request.plain(),
        deadline=deadline,
        private=request.private,
        installed_beside=installed_beside,
    )
    return _read(host, request, value)


class Answers(Generic[A]):
    """A running program that answers several times."""

    def __init__(self, host: Host, request: Request[A]) -> None:
        self._host = host
        self._request = request
        self._stream = host.stream_script(request.program, request.plain())

    def values(self) -> Iterator[A]:
        """Its answers as they come; raises the error it reports, or HostError("host_answer"), ends when it ends."""
        for value in self._stream.values():
            yield _read(self._host, self._request, value)

    def write(self, data: bytes) -> None:
        """Send bytes to the program's standard input."""
        self._stream.write(data)

    def close(self) -> None:
        """Close the channel; harmless when repeated."""
        self._stream.close()


def _read(host: Host, request: Request[A], value: Any) -> A:
    try:
        return request.read(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise HostError(
            "host_answer",
            f"{request.program} on {host.name} gave an answer that cannot be read: {where}: {first['msg']}",
            program=request.program,
        ) from error
