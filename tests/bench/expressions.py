"""How long can a text keep the expressions busy that read logs?

    python tests/bench/expressions.py [--letters N] [--limit SECONDS]

Texts are made of each expression's own words, the shipped patches' and those in the code, so that it begins everywhere
and ends nowhere. Prints the ten that take longest. An expression that takes longer than the limit is stopped there.
"""

from __future__ import annotations

import argparse
import importlib
import re
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from orchestrator.base.data_folders import shipped
from orchestrator.patches import catalogue
from orchestrator.patches.literals import constants, parser

MODULES = (
    "diagnosis.crashes", "diagnosis.hearsay", "diagnosis.incident", "diagnosis.incidents", "diagnosis.following", "diagnosis.launches", "diagnosis.lines",
    "diagnosis.startup", "diagnosis.tracebacks", "engines.vllm.log.grammar", "engines.vllm.log.portrait", "engines.vllm.log.records",
    "engines.vllm.log.selector", "base.bundle", "patches.formula",
)  # fmt: skip
"""Those whose expressions read what somebody else wrote."""
_REPEATS = (constants.MAX_REPEAT, constants.MIN_REPEAT)
_BY_CATEGORY = {
    constants.CATEGORY_DIGIT: "1", constants.CATEGORY_WORD: "a", constants.CATEGORY_SPACE: " ",
    constants.CATEGORY_NOT_DIGIT: "a", constants.CATEGORY_NOT_WORD: " ", constants.CATEGORY_NOT_SPACE: "a",
}  # fmt: skip


def of_the_patches() -> dict[str, str]:
    """Expression -> the patch and key that has it."""
    found = {}
    for patch in catalogue.load([shipped("patches")]):
        for match in patch.match:
            for key, text in [("pattern", match.pattern), *(("line", each) for each in match.watched)]:
                if text:
                    found[text] = f"{patch.id} {key}"
    return found


def of_the_code() -> dict[str, tuple[str, int]]:
    """Expression -> where it is, and its flags."""
    found = {}
    for name in MODULES:
        module = importlib.import_module(f"orchestrator.{name}")
        for variable, value in vars(module).items():
            for inner, expression in _expressions(variable, value):
                found[expression.pattern] = (f"{name} {inner}", expression.flags)
    return found


def _expressions(name: str, value: Any) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Those of a value, and of the values that it consists of."""
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield name, value
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _expressions(f"{name}.{field.name}", getattr(value, field.name))


def attacks(pattern: str, flags: int, letters: int) -> Iterator[str]:
    """Texts of so many letters that fit `pattern` nearly, in many places."""
    for items in _alternatives(list(parser.parse(pattern, flags))):
        words, pumps = _words(items)
        for upto in range(1, len(words) + 1):
            head = words[:upto]
            yield _filled("".join(head), letters)
            yield "".join(_filled(word, letters // upto) for word in head if word)
            before = "".join(words[: upto - 1])
            yield _filled(before, letters // 2) + _filled(words[upto - 1], letters // 2)
        for at, pump in enumerate(pumps):
            yield ("".join(words[: at + 1]) + _filled(pump, letters))[:letters] + "\n!"
            yield _filled("".join(words[: at + 1]) + pump * 40, letters)


def _filled(unit: str, letters: int) -> str:
    return (unit * (letters // len(unit) + 1))[:letters] if unit else ""


def _alternatives(items: Sequence[Any]) -> Iterator[list[Any]]:
    """The expression with one branch chosen at each choice, every branch at least once."""
    whole = _flat(items)
    choices = [at for at, (kind, _) in enumerate(whole) if kind is constants.BRANCH]
    if not choices:
        yield whole
        return
    most = max(len(whole[at][1][1]) for at in choices)
    for turn in range(most):
        yield _flat(
            inner
            for kind, value in whole
            for inner in (
                list(value[1][turn % len(value[1])]) if kind is constants.BRANCH else [(kind, value)]
            )
        )


def _flat(items: Any) -> list[Any]:
    return [
        inner
        for kind, value in items
        for inner in (_flat(value[3]) if kind is constants.SUBPATTERN else [(kind, value)])
    ]


def _words(items: Sequence[Any]) -> tuple[list[str], list[str]]:
    """What stands between the repetitions, and what each repetition repeats."""
    words, pumps = [""], []
    for kind, value in items:
        if kind in _REPEATS:
            unit = _sample(value[2])
            words[-1] += unit * min(value[0], 20)
            pumps.append(unit)
            words.append("")
        else:
            words[-1] += _sample([(kind, value)])
    return words, pumps


def _sample(items: Any) -> str:
    """A text that fits."""
    said = ""
    for kind, value in items:
        if kind is constants.LITERAL:
            said += chr(value)
        elif kind is constants.ANY:
            said += "x"
        elif kind is constants.NOT_LITERAL:
            said += "y" if value != ord("y") else "z"
        elif kind is constants.IN:
            said += _one_of(value)
        elif kind is constants.SUBPATTERN:
            said += _sample(value[3])
        elif kind is constants.BRANCH:
            said += _sample(value[1][0])
        elif kind in _REPEATS:
            said += _sample(value[2]) * max(1, min(value[0], 20))
    return said


def _one_of(value: Any) -> str:
    if value[0][0] is constants.NEGATE:
        return next(letter for letter in "xa 1-.," if not _holds(value[1:], letter))
    kind, what = value[0]
    return (
        _BY_CATEGORY[what]
        if kind is constants.CATEGORY
        else chr(what[0] if kind is constants.RANGE else what)
    )


def _holds(value: Any, letter: str) -> bool:
    for kind, what in value:
        if kind is constants.CATEGORY and re.match(
            {"1": r"\d", "a": r"\w", " ": r"\s"}[_BY_CATEGORY[what]], letter
        ):
            return True
        if kind is constants.LITERAL and chr(what) == letter:
            return True
        if kind is constants.RANGE and what[0] <= ord(letter) <= what[1]:
            return True
    return False


def slowest(pattern: str, flags: int, letters: int, limit: float) -> float:
    """Seconds of the text that takes longest, at most about `limit`."""
    compiled, worst = re.compile(pattern, flags), 0.0
    for text in dict.fromkeys(attacks(pattern, flags, letters)):
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, limit)
        try:
            compiled.search(text)
        except TimeoutError:
            return limit
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        worst = max(worst, time.process_time() - began)
    return worst


def _stop(*_: object) -> None:
    raise TimeoutError


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--letters", type=int, default=6000)
    arguments.add_argument("--limit", type=float, default=1.0)
    given = arguments.parse_args()
    signal.signal(signal.SIGPROF, _stop)
    flags_of = {pattern: (where, 0) for pattern, where in of_the_patches().items()} | of_the_code()
    times = sorted(
        (
            (slowest(pattern, flags, given.letters, given.limit), where, pattern)
            for pattern, (where, flags) in flags_of.items()
        ),
        reverse=True,
    )
    slow = sum(seconds > 0.05 for seconds, _, _ in times)
    print(f"{len(times)} expressions, {given.letters} letters: {slow} take over 50 ms")
    for seconds, where, pattern in times[:10]:
        print(f"{seconds * 1000:8.1f} ms  {where}: {pattern[:90]}")
