"""What does the controller say to a program that is running?"""

from __future__ import annotations

import os
import select
import time


def line(descriptor: int, give_up: float) -> bytes:
    """The next line of a program's input; nothing once the controller's end is closed, or time (monotonic) is over."""
    read = b""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while not read.endswith(b"\n"):
        if not poll.poll(max(0.0, give_up - time.monotonic()) * 1000):
            return b""
        data = os.read(descriptor, 1 << 16)
        if not data:
            return b""
        read += data
    return read
