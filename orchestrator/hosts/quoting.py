"""How is a text written so that a shell on the host takes it literally?"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Sequence

from orchestrator.base.errors import UsageError


def quote(text: str) -> str:
    """One word of POSIX sh; a NUL is refused, since no shell can carry it."""
    if "\0" in text:
        raise UsageError("host_command", "A command for a host cannot hold a NUL byte.")
    return shlex.quote(text)


def program(argv: Sequence[str]) -> str:
    """A command line of POSIX sh; only a leading `~/` of the program itself is the host's home."""
    head, *rest = argv
    if head.startswith("~/"):
        return " ".join(['"$HOME"/' + quote(head[2:]), *map(quote, rest)])
    return " ".join(map(quote, argv))


@functools.lru_cache(maxsize=8)  # every host is asked to start the same long program
def through_login_shell(command: str) -> str:
    """A line that makes any login shell (sh, bash, csh, fish) run `command` in /bin/sh.

    sshd hands a command to the user's own shell, and quoting differs between them (csh ends a quoted
    text at a newline, fish reads backslashes in single quotes); what they differ in travels as octal.
    """
    if "\0" in command:
        raise UsageError("host_command", "A command for a host cannot hold a NUL byte.")
    octal = "".join(f"\\0{ord(char):03o}" if char in "\n\r\\'\"!$`" else char for char in command)
    return f'exec /bin/sh -c \'eval "$(printf %b "{octal}")"\''
