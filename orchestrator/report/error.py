"""How does an error look: what, where, and the command to type next?"""

from __future__ import annotations

from orchestrator.errors import DeployError
from orchestrator.report.layout import WIDTH, Line, plain, visible, wrapped

LEAST_GAP = 2


def error_lines(error: DeployError, next_command: str, host: str = "") -> list[Line]:
    """The message at 80 columns, then the next command on a line that can be copied, its code at the right."""
    where = f"{host}: " if host and host not in error.message else ""
    texts = [
        plain(line)
        for part in f"deploy: {where}{error.message}".split("\n")
        for line in wrapped([], part, WIDTH)
    ]
    if texts[0] == "deploy:":  # a path that is longer than the line
        texts[:2] = [" ".join(texts[:2])]
    lines: list[Line] = [[("deploy:", "bad"), (texts[0].removeprefix("deploy:"), "")]]
    lines += [[(text, "")] for text in texts[1:]]
    tag = f"[{error.code}, exit {error.exit_code}]"
    command = f"  next: {visible(next_command)}" if next_command else ""
    if len(command) + LEAST_GAP + len(tag) <= WIDTH:
        return [*lines, [(command, "strong"), (tag.rjust(WIDTH - len(command)), "dim")]]
    return [*lines, [(command, "strong")], [(tag.rjust(WIDTH), "dim")]]
