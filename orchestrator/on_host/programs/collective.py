"""How fast do GPUs of this host, or of several, add up what each of them holds, with which variables of NCCL, and which pair cannot?

It lives by its input: once the controller is gone, so are the ranks. Each rank ends by itself too, if this program is killed.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator
from typing import Any

from orchestrator.on_host.collectives.group import Ranks, Rendezvous, Site, follow, unstarted
from orchestrator.on_host.footprint import Footprint


def main(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields {"run", "outcome"} for each of `runs`, and for `fallback` where one of them stood still, failed in a rank or added
    up wrongly; after the first that did, {"run", "pair": [a, b], "outcome"} for each pair of `cards` by place, and
    {"untried": count} of pairs for which `pairs_seconds` did not suffice.

    request: python (has torch), text (the program of a rank), backend ("nccl" or "gloo"), cards [UUID], environment (on top of
    the host's own), runs [{name, variables}], fallback (the same, or null), sizes [bytes], ready_seconds (until torch is
    imported), silent_seconds (without any progress), pairs_seconds, footprint (what such programs leave in /dev/shm), meeting
    (of collectives over several hosts, which run this side by side: address, port, first, ranks; null for one of this host
    alone, whose pairs are tried). An
    outcome: state ("done", "silent" or "failed"), at ("starting", "ready" or "checked": how far every rank came),
    ranks_silent, seconds, torch, nccl, wrong (numbers of a sum that were not right), measured [{bytes, seconds}], code and
    reason of a failure, lines (what NCCL said), left (pids that could not be ended).
    """
    names = ("python", "text", "backend", "environment", "ready_seconds", "silent_seconds")
    site = Site(**{name: request[name] for name in names}, footprint=Footprint.of(request["footprint"]))
    runs, cards = list(request["runs"]), request["cards"]
    meeting = Rendezvous(**request["meeting"]) if request["meeting"] else None
    blamed = False
    while runs:
        run = runs.pop(0)
        outcome = _go(site, [cards], run["variables"], request["sizes"], meeting)
        if outcome is None:
            return
        yield {"run": run["name"], "outcome": outcome[0]}
        if not _suspect(outcome[0]) or blamed:
            continue
        blamed = True
        if request.get("fallback"):
            runs.append(request["fallback"])
        if len(cards) > 2 and meeting is None:
            yield from _pairs(site, cards, run, request["pairs_seconds"])


def _suspect(outcome: dict[str, Any]) -> bool:
    """Whether it may be that two cards cannot talk; a Python without torch is no card's fault."""
    failed = outcome["state"] == "failed" and outcome["at"] != "starting"
    return failed or bool(outcome["wrong"]) or (outcome["state"] == "silent" and outcome["at"] != "starting")


def _pairs(
    site: Site, cards: list[str], run: dict[str, Any], pairs_seconds: float
) -> Iterator[dict[str, Any]]:
    give_up = time.monotonic() + pairs_seconds
    untried = 0
    for pairs in rounds(len(cards)):
        if time.monotonic() > give_up:
            untried += len(pairs)
            continue
        outcomes = _go(site, [[cards[a], cards[b]] for a, b in pairs], run["variables"], [])
        if outcomes is None:
            return
        for pair, outcome in zip(pairs, outcomes):
            yield {"run": run["name"], "pair": list(pair), "outcome": outcome}
    yield {"untried": untried}


def rounds(count: int) -> list[list[tuple[int, int]]]:
    """Every pair of so many once, in rounds in which nobody is twice: all of a round can be tried side by side."""
    left = list(itertools.combinations(range(count), 2))
    listed = []
    while left:
        pairs: list[tuple[int, int]] = []
        for pair in left:
            if not any(set(pair) & set(other) for other in pairs):
                pairs.append(pair)
        left = [pair for pair in left if pair not in pairs]
        listed.append(pairs)
    return listed


def _go(
    site: Site,
    groups: list[list[str]],
    variables: dict[str, str],
    sizes: list[int],
    meeting: Rendezvous | None = None,
) -> list[dict[str, Any]] | None:
    """What came of each group, all side by side; None where the controller left meanwhile."""
    started: list[Ranks] = []
    stays = False
    try:
        for cards in groups:
            started.append(Ranks(site, cards, variables, sizes, meeting))
        stays = follow(started, sys.stdin.fileno())
    except OSError as error:
        return [unstarted(site.python, error) for _ in groups]
    finally:
        outcomes = [group.end() for group in started]
    return outcomes if stays else None
