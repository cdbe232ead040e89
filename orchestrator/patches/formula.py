"""What is a value that is worked out of a failure's own numbers, or of what is known of a launch?

`floor(estimate, 16)`, `divisor(heads, tensor_parallel_size)`, `needed > 2 * available`: arithmetic, comparisons,
and / or / not over named numbers. A name that nobody knows is None and so is what is made of it, except that
`a or b` takes the first that is known.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from functools import cache

FormulaValue = float | bool | None
"""A number, a truth, or None for what is not known."""


_MOST_TRIED = 1_000_000


def _floor(number: float, step: float) -> float:
    return round(math.floor(number / step + 1e-9) * step, 10)


def _ceil(number: float, step: float) -> float:
    return round(math.ceil(number / step - 1e-9) * step, 10)


def _divisor(number: float, at_most: float) -> float:
    """The largest divisor of `number` that is not above `at_most`; what is to be divided is a count of something."""
    most = min(int(at_most), int(number))
    if most > _MOST_TRIED:
        raise ValueError(f"{most} numbers are too many to be tried")
    return next(each for each in range(most, 0, -1) if int(number) % each == 0)


FUNCTIONS: Mapping[str, tuple[Callable[..., float], int]] = {
    "floor": (_floor, 2),
    "ceil": (_ceil, 2),
    "divisor": (_divisor, 2),
    "gcd": (lambda number, other: math.gcd(int(number), int(other)), 2),
    "min": (min, 2),
    "max": (max, 2),
}
"""Function -> what it does and how many arguments it takes."""
_OPERATORS: Mapping[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.USub: operator.neg, ast.Not: operator.not_,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_LONGEST = 400
_DEEPEST = 50
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")
_SUFFIX = {"": 1, "k": 1000, "K": 1024, "m": 1000**2, "M": 1024**2}


def number(text: str | None) -> float | None:
    """The number that a log or a command line wrote: "30,720." is 30720, vLLM's "128K" is 131072; else None."""
    match = _NUMBER.match((text or "").strip())
    if not match or text is None:
        return None
    factor = _SUFFIX.get(text.strip()[match.end() :].rstrip("."))
    value = float(match[0].replace(",", "")) * factor if factor else math.inf
    return value if math.isfinite(value) else None


def shown(value: float) -> str:
    """A worked-out number as an option's value: 12512, 0.93."""
    return str(int(value)) if value == int(value) else f"{value:.6g}"


def check(text: str) -> str:
    """Give a formula back; raises ValueError where it is none."""
    _check(_parsed(text), text)
    return text


def evaluate(text: str, known: Callable[[str], float | None]) -> FormulaValue:
    """What a formula comes to; None where a number that it needs is not known, or where it divides by zero."""
    try:
        value = _value(_parsed(text), known)
        return value if value is None or math.isfinite(value) else None
    except (ArithmeticError, ValueError, StopIteration):
        return None


def names(text: str) -> tuple[str, ...]:
    """The numbers that a formula asks for, each once."""
    walked = ast.walk(_parsed(text))
    return tuple(
        dict.fromkeys(node.id for node in walked if isinstance(node, ast.Name) and node.id not in FUNCTIONS)
    )


@cache
def _parsed(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise ValueError(f"has {len(text)} letters; allowed: {_LONGEST}")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(f"{text!r} is no formula ({error})") from error


def _check(node: ast.expr, text: str, depth: int = 0) -> None:
    """Raises ValueError for what is more than arithmetic, or nested deeper than evaluating goes."""
    if depth > _DEEPEST:
        raise ValueError(f"{text!r} is nested too deep; allowed: {_DEEPEST} levels")
    inner: list[ast.expr] = []
    match node:
        case ast.BoolOp():
            inner = node.values
        case ast.BinOp() if type(node.op) in _OPERATORS:
            inner = [node.left, node.right]
        case ast.UnaryOp() if type(node.op) in _OPERATORS:
            inner = [node.operand]
        case ast.Compare() if len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS:
            inner = [node.left, node.comparators[0]]
        case ast.Call(func=ast.Name(id=name), keywords=[]) if (
            name in FUNCTIONS and len(node.args) == FUNCTIONS[name][1]
        ):
            inner = node.args
        case ast.Name() | ast.Constant(value=int() | float()):
            pass
        case _:
            raise ValueError(
                f"{text!r}: {ast.unparse(node)} is not understood; allowed: numbers, names, + - * / // %, "
                f"one comparison, and, or, not, {', '.join(f'{name}()' for name in FUNCTIONS)}"
            )
    for each in inner:
        _check(each, text, depth + 1)


def _value(node: ast.expr, known: Callable[[str], float | None]) -> FormulaValue:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name():
            return known(node.id)
        case ast.BoolOp(op=ast.Or()):
            values = [_value(each, known) for each in node.values]
            known_ones = [value for value in values if value is not None]
            return next((value for value in known_ones if value is not False), values[-1])
        case ast.BoolOp():
            values = [_value(each, known) for each in node.values]
            return None if None in values else all(values)
        case ast.BinOp():
            return _apply(_OPERATORS[type(node.op)], [node.left, node.right], known)
        case ast.UnaryOp():
            return _apply(_OPERATORS[type(node.op)], [node.operand], known)
        case ast.Compare():
            return _apply(_OPERATORS[type(node.ops[0])], [node.left, node.comparators[0]], known)
        case ast.Call(func=ast.Name(id=name)):
            return _apply(FUNCTIONS[name][0], node.args, known)
    raise ValueError(ast.unparse(node))


def _apply(
    function: Callable[..., float], arguments: list[ast.expr], known: Callable[[str], float | None]
) -> FormulaValue:
    values = [_value(each, known) for each in arguments]
    return None if None in values else function(*values)
