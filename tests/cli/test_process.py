"""A command's process ends at once, and nothing that a regular end does for others is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FREED = "class Freed:\n    def __del__(self): print('taken apart')\nfreed = Freed()\n"
"""Only a regular end takes a module apart."""
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def end(code: str, *flags: str) -> subprocess.CompletedProcess[str]:
    program = f"import atexit, os, sys, threading, time\nfrom orchestrator.cli import process\n{FREED}{code}"
    return subprocess.run(
        [sys.executable, *flags, "-c", program], capture_output=True, text=True, check=False
    )


def test_what_was_printed_comes_out_and_nothing_is_taken_apart() -> None:
    done = end("print('out', end=''); sys.stderr.write('err'); process.leave(70)")
    assert (done.returncode, done.stdout, done.stderr) == (70, "out", "err")


def test_what_is_registered_is_done_and_its_words_come_out() -> None:
    done = end("atexit.register(print, 'first'); atexit.register(print, 'last'); process.leave(0)")
    assert (done.returncode, done.stdout) == (0, "last\nfirst\n")


def test_a_daemon_is_not_waited_for() -> None:
    done = end("threading.Thread(target=time.sleep, args=(600,), daemon=True).start(); process.leave(3)")
    assert (done.returncode, done.stdout) == (3, "")


@pytest.mark.parametrize(
    "code",
    [
        "threading.Timer(0.1, print, ['done']).start(); process.leave(3)",
        "sys.settrace(lambda *_: None); print('done'); process.leave(3)",
        "sys.setprofile(lambda *_: None); print('done'); process.leave(3)",
    ],
    ids=["a thread to be waited for", "a tracer", "a profiler"],
)
def test_the_end_is_a_regular_one(code: str) -> None:
    done = end(f"os._exit = lambda code: print('at once')\n{code}")
    assert (done.returncode, done.stdout.removesuffix("taken apart\n")) == (3, "done\n")


def test_an_output_that_cannot_be_written_is_told_as_python_tells_it() -> None:
    code = "from orchestrator.cli import process\nprint('lost'); process.leave(0)"
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=BUFFERED,
        )
    assert done.returncode == 120
    assert "No space left on device" in done.stderr


def test_closed_outputs_do_no_harm() -> None:
    code = "from orchestrator.cli import process\nprocess.leave(4)"
    done = subprocess.run(["/bin/sh", "-c", f'exec {sys.executable} -c "$0" >&- 2>&-', code], check=False)
    assert done.returncode == 4
