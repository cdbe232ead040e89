"""How does an error look: what, where, and the command to type next?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.base.errors import DeployError, UsageError
from orchestrator.report.layout import WIDTH, StyledLine, plain, visible, wrapped

LEAST_GAP = 2
NAMED = 6
"""So many processes are named; `deploy status` and --json name all."""


def error_lines(error: DeployError, next_command: str, host: str = "", *, stop: str = "") -> list[StyledLine]:
    """The message at 80 columns, then the next command on a line that can be copied, its code at the right.

    `stop` is the command that ends what is left alive."""
    where = f"{host}: " if host and host not in error.message else ""
    message = f"deploy: {where}{error.message}"
    # only a file's mistakes come in several lines; in what a host said a line end could forge a line of ours
    parts = message.split("\n") if isinstance(error, UsageError) else [message]
    texts = [plain(line) for part in parts for line in wrapped([], part, WIDTH)]
    if texts[0] == "deploy:":  # a path that is longer than the line
        texts[:2] = [" ".join(texts[:2])]
    lines: list[StyledLine] = [[("deploy:", "bad"), (texts[0].removeprefix("deploy:"), "")]]
    lines += [[(text, "")] for text in texts[1:]]
    lines += _left(error.left, stop) if error.left else []
    tag = f"[{error.code}, exit {error.exit_code}]"
    command = f"  next: {visible(next_command)}" if next_command else ""
    if len(command) + LEAST_GAP + len(tag) <= WIDTH:
        return [*lines, [(command, "strong"), (tag.rjust(WIDTH - len(command)), "dim")]]
    return [*lines, [(command, "strong")], [(tag.rjust(WIDTH), "dim")]]


def _left(left: Mapping[str, Any], stop: str) -> list[StyledLine]:
    """What lives on, and the command that ends it."""
    end: StyledLine = [("  end it: ", "dim"), (visible(stop), "strong")]
    return [*wrapped([("  alive: ", "warn")], living(left), WIDTH), end]


def living(left: Mapping[str, Any]) -> str:
    """What lives on, in one sentence."""
    launch, processes, cards = left["launch"], left["processes"], left["cards"]
    if not processes:
        return f"nothing of launch {launch} can be seen, and yet {_memory(cards)} are in use since it began"
    count = f"{len(processes)} process{'es' if len(processes) > 1 else ''}"
    how = f"launch {launch} goes on with {count}" if left["supervised"] else f"launch {launch} left {count}"
    holding = f" holding {_memory(cards)}" if cards else ""
    named = [_process(process) for process in processes[:NAMED]]
    more = f", and {len(processes) - NAMED} more" if len(processes) > NAMED else ""
    return f"{how}{holding}: {', '.join(named)}{more}"


def _process(process: Mapping[str, Any]) -> str:
    memory = f" ({process['gpu_mib']:,} MiB)" if process["gpu_mib"] else ""
    return f"pid {process['pid']} {process['name']}{memory}"


def _memory(cards: Mapping[str, int]) -> str:
    on = f"{len(cards)} GPU{'s' if len(cards) > 1 else ''}"
    total = sum(cards.values())
    return f"{total:,} MiB on {on}" if total else f"memory on {on}"
