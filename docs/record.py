"""Records the rehearsal as an animated SVG: docs/images/rehearsal.svg, made from a real run in a real terminal.

python -m pip install -e . termtosvg "setuptools<80"
python docs/record.py
"""

from __future__ import annotations

import codecs
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

COLUMNS, ROWS = 80, 46
COMMAND = [sys.executable, "-m", "orchestrator.cli.main", "rehearse", "kimi-k2.5"]
TYPED = "deploy rehearse kimi-k2.5"
TARGET = Path(__file__).parent / "images" / "rehearsal.svg"


def record(cast: Path) -> int:
    """Run the command in a terminal of its own and keep what it wrote, with its times (asciicast, version 2)."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS=str(COLUMNS), LINES=str(ROWS))
        os.environ.pop("NO_COLOR", None)
        os.execvp(COMMAND[0], COMMAND)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    began = time.monotonic()
    with cast.open("w") as file:
        head = {"version": 2, "width": COLUMNS, "height": ROWS}
        file.write(json.dumps(head) + "\n" + json.dumps([0, "o", f"$ {TYPED}\r\n"]) + "\n")
        while data := _read(terminal):
            file.write(json.dumps([round(time.monotonic() - began, 3), "o", decode(data)]) + "\n")
        file.write(json.dumps([round(time.monotonic() - began + 4, 3), "o", ""]) + "\n")
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # what Linux says when the last writer is gone
        return b""


def main() -> None:
    TARGET.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        cast = Path(folder) / "rehearsal.cast"
        if code := record(cast):
            sys.exit(f"{TYPED} left with {code}")
        render = [
            sys.executable,
            "-m",
            "termtosvg",
            "render",
            str(cast),
            str(TARGET),
            "-m",
            "80",
            "-M",
            "2500",
        ]
        subprocess.run(render, check=True)
    print(f"{TARGET}: {TARGET.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
