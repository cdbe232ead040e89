"""How does a fleet look to a person, and to a program?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.fleet.replica import Replica, count_of, extent, numbers
from orchestrator.report.layout import Style, StyledLine, visible, wrapped

STATES: Mapping[str, Style] = {"healthy": "good", "down": "bad"}


def places(
    fleet: str, replicas: Sequence[Replica], reasons: Mapping[int, str], width: int
) -> list[StyledLine]:
    """A row a replica: where it is, on which cards, and what those share (by number; "" is left out)."""
    name = max(len("replica"), *(len(replica.name) for replica in replicas)) + 2
    host = max(len("host"), *(len(visible(replica.host)) for replica in replicas)) + 2
    lines: list[StyledLine] = [[(f"{fleet}: {extent(replicas)}", "strong")]]
    lines.append([(f"  {'replica':<{name}}{'host':<{host}}{'port':<7}cards", "dim")])
    for replica in replicas:
        row = f"  {replica.name:<{name}}{visible(replica.host):<{host}}{replica.port:<7}"
        reason = reasons.get(replica.number, "")
        text = numbers(replica.cards) + (f", {reason}" if reason else "")
        lines += wrapped([(row, "")], text, width)
    return lines


def places_json(
    fleet: str,
    replicas: Sequence[Replica],
    reasons: Mapping[int, str],
    settings: Sequence[str] = (),
    environment: Sequence[str] = (),
) -> dict[str, Any]:
    """The same as one object; `settings` and `environment` are those of all of them, without secrets."""
    return {
        "fleet": fleet,
        "replicas": [
            {
                **replica_json(replica),
                "settings": [*settings, *replica.settings],
                "environment": [*environment, *replica.environment],
                "reason": reasons.get(replica.number) or None,
            }
            for replica in replicas
        ],
    }


def replica_json(replica: Replica) -> dict[str, Any]:
    return {
        "name": replica.name,
        "host": replica.host,
        "url": replica.url,
        "cards": list(replica.cards),
        "settings": [*replica.settings],
        "environment": [*replica.environment],
    }


def status_lines(state: Mapping[str, Any], width: int) -> list[StyledLine]:
    """What `loop/fleet_state.py` saw: the fleet, its router, a row a replica; the context of each where it is not that of all."""
    replicas, router = state["replicas"], state["router"]
    now = str(state["state"])
    count = f"{state['ready']} of {count_of(len(replicas))} ready"
    lines: list[StyledLine] = [
        [(str(state["fleet"]), "strong"), (": ", ""), (now, STATES.get(now, "warn")), (f", {count}", "")]
    ]
    if router is not None:
        lines += wrapped(
            [("  router   ", "dim")], f"{router['state']}, {router['url']} on {router['host']}", width
        )
    for absent, reason in state["absent"].items():
        lines += wrapped([(f"  {visible(absent)}  ", "warn")], f"cannot be asked: {reason}", width)
    name = max(map(len, ["replica", *(each["name"] for each in replicas)])) + 2
    host = max(map(len, ["host", *(visible(each["host"]) for each in replicas)])) + 2
    cards = max(map(len, ["cards", *(numbers(each["cards"]) for each in replicas)])) + 2
    lines.append([(f"  {'replica':<{name}}{'host':<{host}}{'cards':<{cards}}{'requests':<10}state", "dim")])
    differ = len({each["context"] for each in replicas if each["ready"]}) > 1
    for each in replicas:
        requests = each.get("requests")
        row = f"  {each['name']:<{name}}{visible(each['host']):<{host}}{numbers(each['cards']):<{cards}}"
        row += f"{'-' if requests is None else requests:<10}"
        context = f", context {each['context']}" if differ and each["ready"] else ""
        lines += wrapped([(row, "")], _state(each) + context, width)
    if state["repair"]:
        lines.append([("  repair   ", "dim"), (str(state["repair"]), "")])
    return lines


def _state(replica: Mapping[str, Any]) -> str:
    outside = ", not behind the router" if replica.get("admitted") is False else ""
    patches = "".join(f", {patch}" for patch in replica.get("patches", ()))
    return f"{replica['state']}{outside}{patches}"
