"""How does a patch say which failures are its own?"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from orchestrator.engines import registry
from orchestrator.engines.waits import Wait
from orchestrator.patches.versions import OfEngines
from orchestrator.patches.wanted import (
    Confidence,
    LinePattern,
    LinePatterns,
    Pattern,
    Settings,
    Specifier,
    Words,
    checked,
)


def _phases(value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    if checked(info):
        return value
    engines = map(registry.read, registry.kinds())
    phases = dict.fromkeys(phase for engine in engines for phase in engine.log.start.phases)
    for name in value:
        if name not in phases:
            raise ValueError(f"{name!r} is no phase; allowed: {', '.join(phases)}")
    return value


def _waits(value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    for name in () if checked(info) else value:
        if name not in get_args(Wait):
            raise ValueError(f"{name!r} is nothing that a stack shows; allowed: {', '.join(get_args(Wait))}")
    return value


def _mendable(value: str, info: ValidationInfo) -> str:
    if checked(info):
        return value
    settings = dict.fromkeys(name for kind in registry.kinds() for name in registry.read(kind).log.mendable)
    if value not in settings:
        raise ValueError(f"{value!r} is no setting that mends a refusal; allowed: {', '.join(settings)}")
    return value


class Match(OfEngines):
    """One way to recognise a failure: all that is given must hold of the root-cause incident.

    `exception` and `process` are shell patterns (an exception by its last name or its full one); each `text` must
    occur in the exception's text, no `not_text` may; `pattern` is a regular expression found in it, whose named
    groups a remedy may use. `reasons` are the attention selector's: the backends whose
    name fits the key (at least one), each with exactly these reasons; `forced` the backend that was forced;
    `fields` the selector's configuration, `mended_by` the one of them whose change alone would leave a backend without
    an objection, where none would take less. `frames` are shell patterns of source files, each of which the
    traceback passed through; `refused_in` those of which one raised it, with a sentence of its own that says what is wrong: it
    counts for nothing beside a patch that knows the sentence. `engine` is the engine configuration that the log prints, `arguments` what was given
    on the command line; `compute_cap`, `gpus` and the name of an engine (its versions) what runs. What nobody said does not fit.

    `line` is a regular expression for a line that is itself the cause (a library's output, a compiler's, a warning);
    what is given besides must hold of the failure that follows from it. `because_of` is one for a line beside the failure
    (near above it, since the last milestone, of the same process or of nobody who is named) that it came of, though its own
    words may say otherwise: no patch counts then that knows the failure alone; without more it is a cause of failures that
    say nothing themselves. Each `log` is found in some line of the
    launch (its named groups count like those of `pattern`), no `not_log` is. `phase` are the phases in which it fails.

    `during` is left out for failures that end a launch; "request" is for one that leaves the server running though
    no completion can succeed, "hang" for a launch that stands still, whose last line is what the rest is judged on. `stack` is
    what the process does that keeps it, where stacks were dumped; that counts for more than any line.
    """

    exception: str | None = None
    process: str | None = None
    text: Words = ()
    not_text: Words = ()
    pattern: Pattern | None = None
    reasons: Mapping[str, Words] = Field(default_factory=dict)
    forced: Words = ()
    fields: Settings = Field(default_factory=dict)
    mended_by: Annotated[str, AfterValidator(_mendable)] | None = None
    frames: Words = ()
    refused_in: Words = ()
    engine: Settings = Field(default_factory=dict)
    arguments: Settings = Field(default_factory=dict)
    compute_cap: Words = ()
    gpus: Specifier | None = None
    line: LinePattern | None = None
    because_of: LinePattern | None = None
    log: LinePatterns = ()
    not_log: LinePatterns = ()
    phase: Annotated[Words, AfterValidator(_phases)] = ()
    stack: Annotated[Words, AfterValidator(_waits)] = ()
    during: Literal["start", "request", "hang"] = "start"
    confidence: Confidence = "certain"

    @model_validator(mode="after")
    def _says_something(self) -> Match:
        asks = self.text or self.pattern or self.reasons or self.exception or self.line
        asks = asks or self.because_of or self.refused_in
        if not asks and not (self.during == "hang" and (self.phase or self.log or self.stack)):
            raise ValueError(
                "recognises nothing by itself; allowed: at least one of exception, text, pattern, reasons, line, because_of, refused_in"
            )
        return self

    @property
    def of_the_failure(self) -> bool:
        """Whether anything is asked of the exception itself, and not of lines near it alone."""
        return bool(self.text or self.pattern or self.reasons or self.exception or self.refused_in)

    @cached_property
    def watched(self) -> tuple[str, ...]:
        """The regular expressions that are looked for in every line of the launch."""
        beside = (each for each in (self.line, self.because_of) if each)
        return (*beside, *self.log, *self.not_log)
