"""What is answered to a failure that a patch recognises: what it is, and what mends it?"""

from __future__ import annotations

from dataclasses import replace

from orchestrator.diagnosis import own_words
from orchestrator.diagnosis.matching import Recognised
from orchestrator.diagnosis.verdict import Finding, Remedy
from orchestrator.engines.log_grammar import LogGrammar
from orchestrator.patches import propose
from orchestrator.patches.known import Known


def finding(recognised: Recognised, known: Known) -> Finding:
    """The patch, and what would tell where it is only likely."""
    patch = recognised.patch
    tells = patch.tells if recognised.confidence == "likely" else ()
    return Finding(
        patch=patch.id,
        category=patch.category,
        title=patch.title,
        explanation=patch.explanation,
        confidence=recognised.confidence,
        tells=propose.with_numbers(tells, known),
    )


def remedy(recognised: Recognised, known: Known, grammar: LogGrammar) -> Remedy:
    """Its ways that may be taken here, mildest first, and its advice."""
    known = replace(known, groups=recognised.groups)
    ways = propose.ways(recognised.patch, known)
    text = own_words.without_frame(recognised.raised.text, grammar.failures)
    reckoned = () if ways else _reckoned(text, known, grammar)
    advice = (*reckoned, *propose.with_numbers(recognised.patch.advice_for(grammar.kind), known))
    done = [action.name for way in ways for action in way.actions if action.name]
    return Remedy(
        automatic=bool(ways) and ways[0].unasked(recognised.confidence),
        actions=ways[0].actions if ways else (),
        advice=(*asked(text, " ".join([*advice, *done])), *advice),
        ways=ways,
        known=known,
    )


def asked(cause: str, advised: str = "") -> tuple[str, ...]:
    """What the message itself asks for, where that is not told anyway."""
    sentence = own_words.asked_for(cause)
    return (
        (f'The message itself asks: "{sentence}"',)
        if sentence and own_words.left_out(sentence, advised)
        else ()
    )


def _reckoned(cause: str, known: Known, grammar: LogGrammar) -> tuple[str, ...]:
    """What the list of a selector itself says would do, or that nothing would, where no remedy of a patch is left."""
    refusal = grammar.refusal(cause)
    change = grammar.least_change(refusal, known.arguments) if refusal else None
    return (change.sentence,) if change else ()
