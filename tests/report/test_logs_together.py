"""The lines of several hosts' logs, in one order."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.base.errors import HostError
from orchestrator.engines import registry
from orchestrator.report.logs_together import HostLine, as_they_come, in_order, lines_of

GRAMMAR = registry.get(registry.USUAL).log


def log(host: str, *lines: str) -> Iterator[HostLine]:
    return lines_of(host, ["".join(f"{line}\n" for line in lines).encode()], GRAMMAR)


def at(second: int, text: str) -> str:
    return f"INFO 11-30 22:00:{second:02} [core.py:1] {text}"


def test_they_are_in_the_order_of_their_times_and_what_has_none_stays_with_its_line() -> None:
    head = log("a", at(1, "one"), "  more of one", at(4, "four"), at(3, "back"))
    worker = log("b", "first", at(2, "two"), at(4, "four too"))
    shown = [f"{line.host} {line.line.message.strip()}" for line in in_order({"a": head, "b": worker})]
    assert shown == [
        "b first", "a one", "a more of one", "b two", "a four", "a back", "b four too"
    ]  # fmt: skip


def test_a_host_that_is_lost_ends_its_own_log_alone() -> None:
    def cut_off() -> Iterator[HostLine]:
        yield from log("b", at(1, "before"))
        raise HostError("connection_lost", "b is gone")

    shown = [*as_they_come({"a": log("a", at(2, "after")), "b": cut_off()})]
    lines = [item.line.message for item in shown if isinstance(item, HostLine)]
    errors = [item.code for item in shown if isinstance(item, HostError)]
    assert (lines, errors) == (["before", "after"], ["connection_lost"])
