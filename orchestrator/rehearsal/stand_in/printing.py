"""How does a line of vLLM's log look, and how fast do lines follow each other?"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

PACE = float(os.environ.get("STAND_IN_PACE", "0"))
SITE = str(Path(__file__).resolve().parents[2])

PrintedFrame = tuple[str, int, str, str]
"""File below site-packages, line, function, the code on it."""


def pause(seconds: float) -> None:
    time.sleep(seconds * PACE)


def emit(text: str) -> None:
    """Write whole lines in one piece: those of several processes never mix."""
    data = text.encode()
    while data:
        data = data[os.write(sys.stdout.fileno(), data) :]


def say(process: str, level: str, where: str, text: str, pid: int | None = None) -> None:
    """One record of vLLM's logger; each of its lines carries the prefix, and they are joined by CR LF."""
    stamp = time.strftime("%m-%d %H:%M:%S")
    head = f"({process} pid={pid or os.getpid()}) {level} {stamp} [{where}] "
    emit("\r\n".join(head + line for line in text.split("\n")) + "\n")


def raw(process: str, text: str) -> None:
    """What a process prints without the logger: the stream's own prefix is before every line."""
    head = f"({process} pid={os.getpid()}) "
    emit("".join(f"{head}{line}\n" for line in text.split("\n")))


def traceback(frames: Iterable[PrintedFrame], error: str) -> str:
    lines = ["Traceback (most recent call last):"]
    for file, line, function, code in frames:
        path = file if file.startswith("/") else f"{SITE}/{file}"
        lines += [f'  File "{path}", line {line}, in {function}', f"    {code}"]
    return "\n".join([*lines, error])
