"""What is worth a line, and how does it all stand, where more hosts are at work than a screen has lines? Pure but for its clock.

A step that went well is none, and what one host said is not said again for another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from orchestrator.base.events import Event
from orchestrator.report.blocks import finished
from orchestrator.report.layout import StyledLine, visible, wrapped
from orchestrator.report.underway import Going

FEW = 8
"""So many hosts have a line of their own, with all of its steps; of more only the worst."""
SHOWN = 8
"""Lines for what is under way, and for failures of one kind."""


class Crowd:
    """Follows the events of `hosts` hosts."""

    def __init__(self, hosts: int, clock: Callable[[], float]) -> None:
        self._hosts = hosts
        self._clock = clock
        self._heard: set[str] = set()
        self._ends: dict[str, bool] = {}
        self._said: set[tuple[str, str] | None] = set()
        self._kinds = Counter[str]()
        self._last = ""

    def take(self, event: Event, width: int) -> list[StyledLine]:
        """The lines that stay of an event."""
        if event.host:
            self._heard.add(event.host)
        if event.kind == "end":
            return self._end(event, width)
        if event.kind == "result":
            return [[("ok  ", "good"), (visible(f"{event.host} {_first_line(event.text)}")[: width - 4], "")]]
        if event.kind == "step" and event.data["state"] not in ("failed", "interrupted"):
            return []
        if (key := _said_once(event)) in self._said:
            return []
        if key is not None:
            self._said.add(key)
        return finished(event, width, several_hosts=True)

    def _end(self, event: Event, width: int) -> list[StyledLine]:
        """A line for each failure, of one kind for the first of them."""
        self._ends[event.host] = good = event.data["exit_code"] == 0
        self._last = f"{event.host} {event.text}"
        why = f": {event.data['why']}" if event.data["why"] else ""
        self._kinds[event.text + why] += 1
        if good or self._kinds[event.text + why] > SHOWN:
            return []
        return wrapped([("!!  ", "bad")], f"{event.host} {event.text}{why}", width)

    def head(self, going: Sequence[Going], width: int) -> list[StyledLine]:
        """How many are done, failed, at work and waiting, what the last one came to, and at what how many are at work."""
        good = sum(self._ends.values())
        failed = len(self._ends) - good
        at_work = len(self._heard - self._ends.keys())
        counts: StyledLine = [
            (f"{good} done", "good"), (f"{failed} failed", "bad"), (f"{at_work} at work", "busy"),
            (f"{self._hosts - len(self._ends) - at_work} waiting", "dim"),
        ]  # fmt: skip
        line: StyledLine = [(f"{self._hosts} hosts: ", "strong")]
        for text, role in counts:
            if not text.startswith("0 "):
                line += [(", ", "")] if len(line) > 1 else []
                line.append((text, role))
        if self._last:
            room = width - sum(len(text) for text, _ in line) - len("; last: ")
            line += [("; last: ", "dim"), (visible(self._last)[: max(0, room)], "")]
        steps = Counter(step.step for step in going).most_common()
        by_step = ", ".join(f"{step} {count}" for step, count in steps)
        return [line, [("  ", ""), (by_step[: width - 2], "dim")]] if by_step else [line]

    def worst(self, going: Sequence[Going]) -> tuple[list[Going], int]:
        """What is nearest to the end of its time, or has taken longest, and how many more there are."""
        now = self._clock()

        def badness(step: Going) -> tuple[float, float]:
            elapsed = step.elapsed(now)
            return (-(elapsed / step.limit) if step.limit else 0.0, -elapsed)

        shown = sorted(going, key=badness)[:SHOWN]
        return shown, len(going) - len(shown)


def _said_once(event: Event) -> tuple[str, str] | None:
    """What of an event is told once: one plan for all, one panel for a patch; None of those that are a host's own."""
    if event.kind == "plan":
        return (event.kind, "")
    if event.kind == "finding":
        return (event.kind, str(event.data.get("patch") or event.text))
    return (event.kind, event.text) if event.kind in ("warning", "note") else None


def _first_line(text: str) -> str:
    return text.partition("\n")[0]
