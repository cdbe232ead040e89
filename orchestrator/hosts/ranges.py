"""Which hosts does a name stand for that holds a range: gpu[01-16], gpu[1,3,7-9], gpu{01..16}, {a,b}.example.org?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from orchestrator.base.errors import UsageError
from orchestrator.on_host.secrets.secrets import brief

MOST = 1000
"""Hosts that one command may name."""
_NUMBERS = r"[0-9]{1,9}(?:(?:-|:|\.\.)[0-9]{1,9})?"
_SOME = re.compile(rf"\[({_NUMBERS}(?:,{_NUMBERS})*)\]|{{([^{{}}\s]*(?:,|\.\.)[^{{}}\s]*)}}")
"""Numbers in brackets, which no IPv6 address is in its own, or what a shell would have expanded in braces."""
_FROM_TO = re.compile(r"([0-9]{1,9})(?:-|:|\.\.)([0-9]{1,9})")


def expanded(text: str) -> tuple[str, ...]:
    """The names, in order; a text without a range is one name. Leading zeros are kept: [08-10] is 08, 09, 10.

    Raises UsageError("host_name") where a range runs backwards, or names more than `MOST`.
    """
    some = _SOME.search(text)
    if some is None:
        return (text,)
    before, after = text[: some.start()], expanded(text[some.end() :])
    names: list[str] = []
    for middle in _parts(text, some[1] or some[2]):
        names += [f"{before}{middle}{rest}" for rest in after]
        if len(names) > MOST:
            raise _refused(text, f"it names more than {MOST} hosts")
    return tuple(names)


def split(text: str) -> Iterator[str]:
    """The names of a list with commas; those inside of a range stay."""
    yield from filter(None, map(str.strip, re.split(r",(?![^\[{]*[\]}])", text)))


def _parts(text: str, items: str) -> Iterator[str]:
    for item in items.split(","):
        ends = _FROM_TO.fullmatch(item)
        if ends is None:
            yield item
            continue
        first, last = int(ends[1]), int(ends[2])
        if last < first:
            raise _refused(text, f"{item} runs backwards")
        if last - first >= MOST:
            raise _refused(text, f"it names more than {MOST} hosts")
        yield from (str(number).zfill(len(ends[1])) for number in range(first, last + 1))


def _refused(text: str, reason: str) -> UsageError:
    return UsageError("host_name", f"{brief(text, 60)!r} is no range of hosts: {reason}")
