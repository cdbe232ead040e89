"""How does the process of a command begin and end without work that is of no use to a short life?"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from typing import NoReturn

GARBAGE = 300_000
"""Objects between two searches for garbage, by default 700. Each search goes through all there are, and what is imported is no
garbage: a second run makes 110,000 objects, and one search at the end of that takes 30 ms."""


def begin() -> None:
    """Before anything large is imported."""
    gc.set_threshold(GARBAGE)


def leave(code: int) -> NoReturn:
    """End the process with this exit code, after all that a regular end does for others.

    What is registered with `atexit` is done and both outputs are flushed. What is left out is freeing every module
    and object one by one: a tenth of a second with those that a deployment imports. Where a thread is still to be
    waited for, where an output cannot be flushed, or where a profiler, a tracer or `python -i` waits for the
    regular end, that end it is.
    """
    waited_for = [thread for thread in threading.enumerate() if not thread.daemon]
    if len(waited_for) > 1 or sys.gettrace() or sys.getprofile() or sys.flags.interactive:
        sys.exit(code)
    atexit._run_exitfuncs()
    try:
        for output in (sys.stdout, sys.stderr):
            if output is not None:  # closed by whoever started this
                output.flush()
    except (OSError, ValueError):  # nobody reads, or it is closed: Python has its own way to tell that
        sys.exit(code)
    os._exit(code)
