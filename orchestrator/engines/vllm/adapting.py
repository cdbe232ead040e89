"""Which options does a version of vLLM get in the place of those that were asked for?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from orchestrator.engines.command_line import rendered
from orchestrator.engines.options import Adaptation, Option, Options, OptionValue
from orchestrator.engines.variable import Variable
from orchestrator.engines.vllm.option_table import releases
from orchestrator.engines.vllm.respelling import Respelling, respelled

_Some = TypeVar("_Some", bound=Options)


def adapted(options: _Some, version: str) -> _Some:
    """The same options as this version spells them, with a note of each that is not launched as it was asked.

    Between two releases that disagree nothing is changed.
    """
    beside = releases().beside(version)
    for name, option in options.given.items():
        answers = [respelled(name, option.value, release) for release in beside]
        if answers and answers[0] is not None and all(answer == answers[0] for answer in answers):
            options = _with(options, name, option, answers[0])
    return options


def _with(options: _Some, name: str, option: Option[OptionValue], instead: Respelling) -> _Some:
    asked = " ".join(rendered(name, option.value))
    changes: dict[str, Option[OptionValue] | None] = {name: None}
    why = instead.why
    for other, value in instead.options:
        if other in options.given and other != name:
            why = f"--{other} is given as well"
        else:
            changes.update(_set(options, other, Option(value, option.origin)))
    words = [" ".join(rendered(*item)) for item in instead.options if not why]
    if instead.variable:
        variable, text = instead.variable
        why = f"{variable} is given as well" if options.variable(variable) is not None else ""
        words = [] if why else [f"{variable}={text}"]
        more = Variable(variable, text, f"what {asked} is {instead.when}", option.origin)
        options = options if why else options.with_variables([more])
    note = Adaptation(asked, tuple(words), instead.when, why)
    return options.changed(changes).adapting(note)


def _set(
    options: Options, name: str, option: Option[OptionValue]
) -> Iterator[tuple[str, Option[OptionValue]]]:
    """A key beside the others of a JSON value: given again by itself it would replace the whole."""
    head, dot, key = name.partition(".")
    whole = options.value(head) if dot else None
    if isinstance(whole, dict):
        yield head, Option({key: option.value, **whole}, options.given[head].origin)
    else:
        yield name, option
