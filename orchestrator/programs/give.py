"""From which port does a host give the files of its checkpoint?"""

from __future__ import annotations

from orchestrator.programs.request import Request, Value, secret


class Gives(Value):
    port: int


class Give(Request[Gives]):
    """The program answers once, and ends with its input. Whoever asks for a file must know the `word`."""

    program = "give"

    instance: str
    folder: str
    address: str
    word: str = secret("")
