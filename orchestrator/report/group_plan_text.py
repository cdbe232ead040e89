"""How does the plan of several hosts, that serve one model together or each for itself, look to a person: what is common once, what
differs by host?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from orchestrator.report import plan_text
from orchestrator.report.alike import alike, named
from orchestrator.report.plan_text import wrap

if TYPE_CHECKING:
    from orchestrator.engines.node import Node
    from orchestrator.plan.plan import Plan
    from orchestrator.steps.course import Course

Block = tuple[str, ...]
"""A line and those that go on below it."""


def summary(courses: Sequence[Course]) -> list[str]:
    """The head of a run, as `plan_text.summary` has it for one host; each line at most 80 columns."""
    plans = {course.plan.host: course.plan for course in courses}
    first = next(iter(plans.values()))
    entries = {
        course.plan.host: [entry for entry in _entries(_summary(course)) if not _in_table(entry, course.plan)]
        for course in courses
    }
    title = f"{first.playbook.instance} on {len(plans)} hosts"
    return [title, *_hosts(plans), *_merged(entries, wrapped=_on_host), ""]


def whole(courses: Sequence[Course]) -> list[str]:
    """Everything that `deploy plan` says."""
    lines = [*summary(courses), "steps"]
    steps = {course.plan.host: _steps(course) for course in courses}
    lines += _merged(steps, wrapped=_on_host)
    diffs = {course.plan.host: _diffs(course) for course in courses}
    lines += _merged(diffs, wrapped=lambda host, entry: ["", f"on {host}", *entry[1:]])
    lines += _commands(courses)
    consents = {name: why for course in courses for name, why in course.lacking.items()}
    refusals = {course.plan.host: _refusals(course) for course in courses}
    if consents or any(refusals.values()):
        lines.append("")
    for consent, why in consents.items():
        lines += wrap("consent    ", f"{consent} is missing ({why}): --consent {consent}")
    return lines + _merged(refusals, wrapped=lambda _host, entry: list(entry))


def _summary(course: Course) -> list[str]:
    _, *lines = plan_text.summary(course.plan, waiting=course.waiting, source=course.way)
    engine = plan_text.machine(course.plan)
    serving = plan_text.serving(course.serving.standing) if course.serving else []
    below = [line for line in lines if not line.startswith("  with       ")]
    return [*serving, *wrap("  with       ", engine), *below]


def _hosts(plans: Mapping[str, Plan]) -> list[str]:
    together = any(plan.playbook.node for plan in plans.values())
    return _table(plans) if together else wrap("  hosts      ", f"{named(list(plans))}, each for itself")


def _table(plans: Mapping[str, Plan]) -> list[str]:
    rows = [("host", "role", "ranks", "GPUs", "address", "interface")]
    for host, plan in plans.items():
        node = plan.playbook.node
        if node is not None:
            own = plan.playbook.parallel.ranks // node.of
            cards = len(plan.survey.facts.cards)
            used = f"{plan.playbook.gpus} of {cards}" if cards else "none"
            rows.append((host, node.role, _span(node.rank * own, own), used, node.address, node.interface))
    wide = [max(len(row[column]) for row in rows) for column in range(6)]
    return [
        "  " + "  ".join(f"{text:<{size}}" for text, size in zip(row, wide, strict=True)).rstrip()
        for row in rows
    ]


def _span(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def _in_table(entry: Block, plan: Plan) -> bool:
    """Whether a variable says what stands in the table."""
    node = plan.playbook.node
    return node is not None and any(f"={own} " in f"{entry[0]} " for own in _own(node))


def _own(node: Node) -> tuple[str, ...]:
    return node.address, node.interface


def _entries(lines: Sequence[str], indent: int = 13) -> list[Block]:
    entries: list[list[str]] = []
    for line in lines:
        if entries and line.startswith(" " * indent):
            entries[-1].append(line)
        elif line:
            entries.append([line])
    return [tuple(entry) for entry in entries]


def _merged(
    by_host: Mapping[str, Sequence[Block]], *, wrapped: Callable[[str, Block], list[str]]
) -> list[str]:
    """What all hosts say as the first of them says it; of what differs, whose it is."""
    whose: dict[Block, list[str]] = {}
    for host, entries in by_host.items():
        for entry in dict.fromkeys(entries):
            whose.setdefault(entry, []).append(host)
    lines: list[str] = []
    for entry, hosts in whose.items():
        lines += entry if len(hosts) == len(by_host) else wrapped(named(hosts), entry)
    return lines


def _on_host(host: str, entry: Block) -> list[str]:
    label, text = entry[0][:13], " ".join([entry[0][13:], *(line.strip() for line in entry[1:])])
    return wrap(label, f"{host}: {text}")


def _steps(course: Course) -> list[Block]:
    return [
        tuple(wrap(f"  {step.name:<10} ", words))
        for step in course.steps
        for words in step.as_json()["effects"]
    ]


def _diffs(course: Course) -> list[Block]:
    return [
        ("", *change.diff.splitlines())
        for change in course.plan.changes
        if change.diff and change not in course.waiting
    ]


def _refusals(course: Course) -> list[Block]:
    return [tuple(wrap("refused    ", f"{refusal.message}  [{refusal.code}]")) for refusal in course.refusals]


def _commands(courses: Sequence[Course]) -> list[str]:
    """The first host's command whole, of the others the lines that differ."""
    first, *others = courses
    title = "command" if first.starts else "command of the next start"
    whole = plan_text.command(first.plan)
    lines = ["", f"{title}, on {first.plan.host}", *whole]
    same = {line.removesuffix(" \\") for line in whole}
    own = {
        other.plan.host: tuple(
            line for line in plan_text.command(other.plan) if line.removesuffix(" \\") not in same
        )
        for other in others
    }
    for hosts, differing in alike(own, tuple):
        lines += ["", f"on {named(hosts)} the same{', but for' if differing else ''}", *differing]
    return lines
