"""For which options does a version of vLLM certainly end at once, and what may be given instead?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from packaging.version import Version

from orchestrator.engines.command_line import rendered, text_of
from orchestrator.engines.consents import OFF
from orchestrator.engines.options import Objection, Option, OptionValue
from orchestrator.engines.vllm.arguments import RULES
from orchestrator.engines.vllm.option_table import (
    SWITCHES,
    Spelling,
    entry,
    names,
    opposite,
    releases,
    spelling,
    takes,
)
from orchestrator.engines.vllm.releases import first, spoken, table
from orchestrator.engines.vllm.values import choice_ranges, choices, wrong
from orchestrator.on_host.secrets.secrets import brief, redact

_ON = ("1", "on", "true", "yes")
_PLUGINS = {"tool-call-parser": "tool-parser-plugin", "reasoning-parser": "reasoning-parser-plugin"}
"""Options whose values a plugin may add to."""
_MOST = 20
"""Choices of a longer list are not all told."""


def objections(
    given: Mapping[str, Option[OptionValue]], version: str
) -> Iterator[tuple[Objection, Option[OptionValue]]]:
    """Each with the option that it is about. Nothing is said of a version before or after all that were read, nor
    where the releases beside it disagree."""
    if not releases().knows(version):
        return
    beside = releases().beside(version)
    for name, option in given.items():
        read = [spelling(name.partition(".")[0], release) for release in beside]
        known = [each for each in read if each is not None]
        objection = None
        if not known or _is_gone(name, beside):
            objection = _unknown(name, option.value, version, beside[0])
        elif len(known) == len(read) and "." not in name and _PLUGINS.get(name) not in given:
            objection = _value(name, option.value, version, list(zip(known, beside, strict=True)))
        if objection is not None:
            yield objection, option


def _is_gone(name: str, beside: Sequence[Version]) -> bool:
    """Whether a key of a JSON value that is known by release is none of these."""
    return "." in name and entry(name) is not None and not any(takes(name, release) for release in beside)


def _unknown(name: str, value: OptionValue, version: str, release: Version) -> Objection:
    head = name if entry(name) else name.partition(".")[0]
    known = entry(head) or entry(head.removeprefix("no-")) or entry(opposite(head) or "")
    if known is None:
        prefix = "no-" if head.startswith("no-") else ""
        near = _near(head, (prefix + option for option in names(release)))
        sentence = f"vLLM {version} has no option --{brief(head, 60)}{_meant(near)}"
        return Objection("option_unknown", sentence, name, _argument(near[:1], value))
    gone = releases().after(known["in"])
    if gone is not None and gone <= release:
        there = f"which went in {gone}"
    else:
        there = f"which came in {first(known['in'])}"
    instead = table("renames.json")["instead"].get(head, "")
    sentence = f"vLLM {version} has no option --{head}, {there}{f': {instead}' if instead else ''}"
    return Objection("option_not_there", sentence, name, {})


def _argument(near: Sequence[str], value: OptionValue) -> dict[str, str]:
    """What is typed instead, unless the option that was meant is none of a playbook's arguments."""
    if not near or near[0] in RULES.reserved:
        return {}
    return {"argument": near[0] if value is True else f"{near[0]}={text_of(value)}"}


def _meant(near: Sequence[str]) -> str:
    if not near:
        return ""
    options = [
        f"--{option} ({RULES.reserved[option]})" if option in RULES.reserved else f"--{option}"
        for option in near
    ]
    return f"; did you mean {' or '.join(options)}?"


def _value(
    name: str, value: OptionValue, version: str, read: Sequence[tuple[Spelling, Version]]
) -> Objection | None:
    reasons = [wrong(each, value, release) for each, release in read]
    if None in reasons:
        return None
    spelled, release = read[0]
    asked = redact(" ".join(rendered(name, value if value is True else brief(text_of(value), 60))))
    sentence = f"vLLM {version} does not take {asked}: --{spelled.option} {reasons[0]}{_later(spelled, value, release)}"
    listed = choices(spelled.option, release)
    if not listed or value is True:
        return Objection("option_value", sentence, name, _bare(spelled, value))
    near = _near(text_of(value), listed)
    since = choice_ranges(spelled.option).get(text_of(value))
    there = f" ({value} is in {spoken(since, str(releases().newest))})" if since else ""
    few = listed if len(listed) <= _MOST else near or listed[:_MOST]
    values = ", ".join(few)
    rest = "" if few is listed else f" and others, {len(listed)} in all"
    sentence = f"vLLM {version} does not take {asked}: it takes {values}{rest}{there}"
    known = {} if not near or name in RULES.reserved else {"argument": f"{name}={near[0]}"}
    return Objection("option_value", sentence, name, known)


def _later(spelled: Spelling, value: OptionValue, release: Version) -> str:
    """Since when the option takes such a value, and where it is set if that is no argument."""
    kinds = (entry(spelled.option) or {})["takes"]
    newer = kinds.items() if isinstance(kinds, dict) else ()
    came = [
        since
        for since, kind in newer
        if Version(since) > release and wrong(Spelling(spelled.option, kind), value, release) is None
    ]
    there = f" ({text_of(value)} came in {came[0]})" if came else ""
    return there + (f"; {RULES.reserved[spelled.option]}" if spelled.option in RULES.reserved else "")


def _bare(spelled: Spelling, value: OptionValue) -> dict[str, str]:
    """The switch that a word after one was meant for."""
    word = text_of(value).lower()
    if spelled.takes not in SWITCHES or word not in (*_ON, *OFF):
        return {}
    on = (word in _ON) != spelled.negated
    return {"argument": f"{'' if on else 'no-'}{spelled.option}"}


def _near(name: str, others: Iterable[str]) -> list[str]:
    import difflib  # few plans come here

    by_text = {other.lower(): other for other in others}
    return [by_text[text] for text in difflib.get_close_matches(name.lower(), by_text, n=3, cutoff=0.65)]
