"""What is a program on the host asked, and what may it answer?

A program of `on_host/programs/` takes and gives plain JSON, since nothing but its text is on the host. Each has a module of
the same name in this room, with its request and its answer as values; its own docstring says what they mean.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

A = TypeVar("A")


class Value(BaseModel):
    """Part of a request or an answer. Its validator is built when it is first needed: no command needs all of them."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

    def as_json(self) -> dict[str, Any]:
        """As the program gave it."""
        return self.model_dump(mode="json", exclude_unset=True)


class Stored(Value):
    """One that stands in a file on the host, where another release may have written it: what it says besides counts for
    nothing here."""

    model_config = ConfigDict(extra="ignore")


class Request(Value, Generic[A]):
    """What one program is asked; A is what it answers, or yields."""

    program: ClassVar[str]

    @property
    def private(self) -> bool:
        """Whether a secret stands in it, so that it must pass through no shell."""
        return any(getattr(self, name) for name, field in type(self).model_fields.items() if not field.repr)

    def plain(self) -> dict[str, Any]:
        """As it goes over the channel."""
        return self.model_dump(mode="json")

    def read(self, answer: Any) -> A:
        """The answer as a value; raises pydantic's ValidationError for one that is none of this program's."""
        value: A = _answers(type(self)).validate_python(answer)
        return value


def secret(default: Any) -> Any:
    """A field whose value is shown nowhere; a request in which it is set is private."""
    return Field(default, repr=False)


@functools.cache
def _answers(request: type[Request[Any]]) -> TypeAdapter[Any]:
    bases: Any = request.__mro__  # requests of one program may have a base of their own
    (answer,) = next(args for base in bases if (args := base.__pydantic_generic_metadata__["args"]))
    return TypeAdapter(answer)
