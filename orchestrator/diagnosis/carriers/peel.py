"""Which layers lie around the lines of a log, and what is left without them?

A log comes through launchers, collectors, screens and chats, each of which puts something around every line. What that
is is learned from the beginning of the file, layer by layer, as long as the engine's own lines stand behind something.
A log that begins its lines itself has no layer and passes as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from orchestrator.diagnosis import origin
from orchestrator.diagnosis.carriers import anchors, fences, folded, markup, prefix, tails, values, wrapped
from orchestrator.diagnosis.carriers.layer import Layer, Numbered
from orchestrator.diagnosis.lines import cut, without_colours
from orchestrator.engines.log_grammar import LogGrammar

LINES = 800
"""Of the beginning, from which is learned."""
LONGEST = 4 << 20
"""Bytes of a raw line that are kept: a whole log may stand in one."""
_MOST = 5
Learner = Callable[[Sequence[str], LogGrammar], Layer | None]
_BY_FORM: tuple[Learner, ...] = (
    markup.colours, tails.learn, folded.learn, wrapped.learn, fences.learn, markup.entities,
)  # fmt: skip
_BY_ANCHORS: tuple[Learner, ...] = (values.learn, prefix.learn, markup.escapes)
"""Of a log of which most of what the engine says stands behind something."""


@dataclass(frozen=True)
class Wrapping:
    """The layers around the lines of a log, the outermost first."""

    around: tuple[Layer, ...] = ()

    def peel(self, lines: Iterable[Numbered]) -> Iterator[Numbered]:
        """The lines without any of them."""
        bare = iter(lines)
        for layer in self.around:
            bare = layer.peel(bare)
        return bare


def numbered(raw_lines: Iterable[bytes], first: int = 1) -> Iterator[Numbered]:
    """Raw lines as text, without what only a terminal needs."""
    for number, raw in enumerate(raw_lines, first):
        yield Numbered(number, without_colours(raw).decode("utf-8", "replace").rstrip("\r"))


def learn(beginning: bytes, grammars: Sequence[LogGrammar]) -> Wrapping:
    """What lies around the lines of a log that begins so."""
    whole = beginning[: beginning.rfind(b"\n") + 1] or beginning
    lines = list(islice(numbered(cut([whole], LONGEST)), LINES))
    learned: list[Wrapping] = []
    for grammar in grammars:
        learned.append(_learned(lines, grammar))
        if not learned[-1].around and _most_are_own(lines, grammar):
            return learned[-1]
    if not any(wrapping.around for wrapping in learned):
        return learned[0]
    pairs = zip(learned, grammars, strict=True)
    return max(pairs, key=lambda pair: _brought_to_light(lines, *pair))[0]


def _most_are_own(lines: Sequence[Numbered], grammar: LogGrammar) -> bool:
    """Whether most lines are an engine's records as they stand: another one's can hardly be hidden in them."""
    return 2 * origin.own((text.encode() for _, text in lines), grammar) > len(lines)


def _brought_to_light(lines: Sequence[Numbered], wrapping: Wrapping, grammar: LogGrammar) -> tuple[int, int]:
    """How many of an engine's records, and of its other beginnings, there are without what was learned."""
    bare = [text for _, text in wrapping.peel(lines)]
    return origin.own(map(str.encode, bare), grammar), anchors.placed(bare, grammar).clear


def _learned(lines: Sequence[Numbered], grammar: LogGrammar) -> Wrapping:
    """What is learned by the beginnings of one engine's lines."""
    layers: list[Layer] = []
    for _ in range(_MOST):
        texts = [text for _, text in lines]
        layer = _first(_BY_FORM, texts, grammar)
        if layer is None and anchors.placed(texts, grammar).carried:
            layer = _first(_BY_ANCHORS, texts, grammar)
        if layer is None:
            break
        layers.append(layer)
        lines = list(layer.peel(lines))
    return Wrapping(tuple(layers))


def _first(kinds: Sequence[Learner], texts: Sequence[str], grammar: LogGrammar) -> Layer | None:
    return next((layer for learn_kind in kinds if (layer := learn_kind(texts, grammar))), None)
