"""Which steps of hosts that serve one model together are one line, since all of them did the same? Pure but for its clock.

A step that ended is held back for a moment until the others have ended it as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from orchestrator.base.events import Event

HOLD_SECONDS = 1.0
"""How long a line waits for those of the other hosts; the output may be silent for two seconds."""

_SILENT = ("wait", "progress", "end")
"""Events of which no line stays."""


class SameSteps:
    """Follows the events of `hosts` hosts; what it gives is to be shown in this order."""

    def __init__(self, hosts: int, clock: Callable[[], float]) -> None:
        self._hosts = hosts
        self._clock = clock
        self._held: dict[tuple[str, ...], list[Event]] = {}
        self._since: dict[tuple[str, ...], float] = {}
        self._shown: dict[tuple[str, ...], set[str]] = {}

    def take(self, event: Event) -> list[Event]:
        """What is to be shown by now: this event with those of the other hosts, or what was held and it; nothing while it is held."""
        if event.kind in _SILENT or event.data.get("state") == "started":
            return []
        kind = _kind(event)
        if kind is None:
            return [*self.rest(), event]
        alone = self._shown.get(kind, set())
        if alone and event.host not in alone:  # the others had not come in time
            self._alone(kind, event)
            return [event]
        self._shown.pop(kind, None)
        held = self._held.setdefault(kind, [])
        self._since.setdefault(kind, self._clock())
        if any(other.host == event.host for other in held):  # done once more, before the others did it at all
            return [*self._let_go(kind), *self.take(event)]
        held.append(event)
        if len(held) < self._hosts:
            return []
        del self._held[kind], self._since[kind]
        return _merged(held)

    def due(self) -> list[Event]:
        """What has been held for long enough."""
        late = [kind for kind, at in self._since.items() if self._clock() - at >= HOLD_SECONDS]
        return [event for kind in late for event in self._let_go(kind)]

    def rest(self) -> list[Event]:
        """Whatever is held."""
        return [event for kind in list(self._held) for event in self._let_go(kind)]

    def _let_go(self, kind: tuple[str, ...]) -> list[Event]:
        events = self._held.pop(kind)
        del self._since[kind]
        for event in events:
            self._alone(kind, event)
        return events

    def _alone(self, kind: tuple[str, ...], event: Event) -> None:
        shown = self._shown.setdefault(kind, set())
        shown.add(event.host)
        if len(shown) == self._hosts:
            del self._shown[kind]


def _kind(event: Event) -> tuple[str, ...] | None:
    """What makes events of several hosts one; None for what is told at once."""
    if not event.host:
        return None
    if event.kind == "step" and event.data["state"] in ("ok", "skipped"):
        return event.kind, event.step, event.data["state"]
    return (event.kind, event.text) if event.kind == "note" else None


def _merged(events: list[Event]) -> list[Event]:
    """One where all say the same, which took as long as the slowest."""
    first = events[0]
    if len({event.text for event in events}) > 1:
        return events
    where = f"on {len(events)} hosts"
    text = f"{where}: {first.text}" if first.text else where
    seconds = {"seconds": max(event.data.get("seconds") or 0.0 for event in events)}
    return [replace(first, host="", text=text, data={**first.data, **seconds})]
