"""Where in a checkpoint's config files does a value stand, and what kind of value is it? (JSON pointers, RFC 6901)"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import AfterValidator

from orchestrator.on_host.checkpoint.configs import CONFIGS

Documents = Mapping[str, Mapping[str, Any]]
"""The config files of a checkpoint by name, as JSON says them."""
ValueKind = Literal["object", "list", "string", "number", "boolean"]
KINDS: tuple[ValueKind, ...] = get_args(ValueKind)
_DEEPEST = 20
_LONGEST = 200
_POINTER = re.compile(r"(?:/(?:[^/~\x00-\x1f]|~[01])+)+")


class Place(NamedTuple):
    """A member of a config file; no steps: the whole of it."""

    file: str = CONFIGS[0]
    steps: tuple[str, ...] = ()

    def to(self, place: str) -> Place:
        """A place by its name: "/a/b" in config.json, "FILE#/a/b" in that file, "./a/b" from here."""
        if place.startswith("."):
            return Place(self.file, (*self.steps, *steps(place[1:])))
        file, _, pointer = place.rpartition("#")
        return Place(file or CONFIGS[0], steps(pointer))


TOP = Place()


def checked_pointer(pointer: str) -> str:
    """The pointer, where it is one that can lead somewhere; ValueError says what is allowed."""
    if not _POINTER.fullmatch(pointer) or len(pointer) > _LONGEST or pointer.count("/") > _DEEPEST:
        raise ValueError(
            f"{pointer[:60]!r} is no JSON pointer to a member; allowed: for instance /rope_scaling/factor"
        )
    return pointer


def checked_place(place: str) -> str:
    """The name of a place, as `Place.to` takes it."""
    file, hash_, pointer = place.rpartition("#")
    if hash_ and file not in CONFIGS:
        raise ValueError(f"{file[:60]!r} is no config file; allowed: {', '.join(CONFIGS)}")
    checked_pointer(pointer.removeprefix(".") if not hash_ else pointer)
    return place


Pointer = Annotated[str, AfterValidator(checked_pointer)]
PlaceName = Annotated[str, AfterValidator(checked_place)]


def steps(pointer: str) -> tuple[str, ...]:
    """The members and indexes that lead to it, from the top."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def within(value: Any, step: str) -> Any:
    """The member or element of that name; KeyError where there is none."""
    if isinstance(value, Mapping):
        return value[step]
    if isinstance(value, list) and re.fullmatch(r"0|[1-9]\d{0,5}", step) and int(step) < len(value):
        return value[int(step)]
    raise KeyError(step)


def value_at(place: Place, documents: Documents) -> Any:
    """What stands there; None for nothing, and for null."""
    value: Any = documents.get(place.file)
    try:
        for step in place.steps:
            value = within(value, step)
    except KeyError:
        return None
    return value


def kind_of(value: Any) -> ValueKind | None:
    """What kind of JSON value it is; None for null."""
    if isinstance(value, bool):
        return "boolean"
    kinds: tuple[tuple[type | tuple[type, ...], ValueKind], ...] = (
        (Mapping, "object"), (list, "list"), (str, "string"), ((int, float), "number"),
    )  # fmt: skip
    return next((kind for types, kind in kinds if isinstance(value, types)), None)


def text_of(value: Any) -> str | None:
    """A value as patterns see it: a scalar's text, "object" or "list" for what holds others, None for null."""
    kind = kind_of(value)
    return None if kind is None else kind if kind in ("object", "list") else str(value)
