"""The requests of this package by program, and the answers of real programs read by them."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable, Iterator
from types import GeneratorType
from typing import Any

import orchestrator.on_host.programs
from orchestrator.programs.request import Request

PROGRAMS = sorted(module.name for module in pkgutil.iter_modules(orchestrator.on_host.programs.__path__))


def requests(program: str) -> list[type[Request[Any]]]:
    """What may be asked of it."""
    module = importlib.import_module(f"orchestrator.programs.{program}")
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Request)
        and getattr(value, "program", None) == program
    ]


def answer_of(program: str) -> Callable[[Any], Any]:
    """What takes an answer of the program as a value, whichever request it was."""
    read: Any = requests(program)[0].read
    asked: Any = requests(program)[0].model_construct()
    return lambda answer: read(asked, json.loads(json.dumps(answer)))


def read_too(program: str, main: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same program, whose answers have to be what the controller reads."""
    read = answer_of(program)

    def each(answers: GeneratorType[Any, None, None]) -> Iterator[Any]:
        try:
            for answer in answers:
                read(answer)
                yield answer
        finally:
            answers.close()

    def checked(request: Any) -> Any:
        answer = main(request)
        if isinstance(answer, GeneratorType):
            return each(answer)
        read(answer)
        return answer

    return checked
