"""Which wheels are sent to a host for an engine, and what of them arrived?"""

from __future__ import annotations

from orchestrator.programs.request import Request, Value


class SentFile(Value):
    """A wheel, or the binary of uv: bytes, and sha256 in hex."""

    name: str
    size: int
    sha256: str


class MissingPart(Value):
    """What is to be sent of a file: all behind the offset."""

    name: str
    offset: int


class MissingParts(Value):
    """In this order they are read."""

    wanted: tuple[MissingPart, ...]


class ArrivedFile(Value):
    """Whether it is on the host as it was sent; what is not is not kept."""

    name: str
    sound: bool


class ReceiveWheels(Request[MissingParts | ArrivedFile]):
    """First it says what is missing, then of each that it arrived."""

    program = "receive_wheels"

    engine: str
    version: str
    files: tuple[SentFile, ...]
