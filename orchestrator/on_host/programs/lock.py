"""Who may deploy under this name on this host: hold that right for as long as the deployer's connection lives.

The lock is an flock, so the kernel frees it when this process ends, however it ends. The process ends when
its standard input closes or when no heartbeat came for a while (monotonic clock: the host's wall clock may
jump). Each line of standard input is a heartbeat; a JSON object in it updates what is being done. Programs of an
earlier deployer that are still at work are waited for (`state.at_work`): they outlive its connection.
"""

from __future__ import annotations

import fcntl
import json
import os
import queue
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orchestrator.on_host.state import state, turns

WORK_SECONDS = 20.0
"""How long programs of an earlier deployer are waited for; less than the deployer waits for the answer."""


def main(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields {"locked": true, "before": word} once (`turns.word`: what the lock held until now) and then lives until its input ends, or {"held_by": {...}} and ends.

    request: instance, who (user@machine of the deployer), doing, heartbeat_seconds, patience_seconds (a
    holder whose connection was just closed needs a moment to notice).
    """
    path = state.state_folder(request["instance"]) / "lock"
    never = not os.path.lexists(path)
    descriptor = state.opened(path, os.O_RDWR)
    try:
        if not (_acquire(descriptor, request["patience_seconds"]) and _at_rest(path, WORK_SECONDS)):
            holder = state.read_json(path)
            yield {"held_by": holder if isinstance(holder, dict) else {}}
            return
        before = turns.NEVER if never and not os.fstat(descriptor).st_size else turns.word(path)
        note = {"who": request["who"], "since": state.now(), "doing": request["doing"], "pid": os.getpid()}
        _write(descriptor, note)
        yield {"locked": True, "before": before}
        for line in _lines(request["heartbeat_seconds"]):
            if line.strip():
                note.update(json.loads(line))
                _write(descriptor, note)
        if _at_rest(path, 0.0):  # else whoever waits for what is still at work is told whose it is
            _write(descriptor, turns.given_back())
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, patience_seconds: float) -> bool:
    give_up = time.monotonic() + patience_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= give_up:
                return False
            time.sleep(0.02)
        else:
            return True


def _at_rest(lock: Path, patience_seconds: float) -> bool:
    """Whether no program is at work that a deployer left behind."""
    descriptor = state.opened(lock.with_name("work"), os.O_RDWR)
    try:
        return _acquire(descriptor, patience_seconds)
    finally:
        os.close(descriptor)


def _write(descriptor: int, note: dict[str, Any]) -> None:
    text = (json.dumps(note) + "\n").encode()
    os.pwrite(descriptor, text, 0)
    os.ftruncate(descriptor, len(text))


def _lines(silence_seconds: float) -> Iterator[bytes]:
    """Lines of standard input until it ends or falls silent for too long."""
    arrived: queue.Queue[bytes] = queue.Queue()

    def read() -> None:
        for line in iter(sys.stdin.buffer.readline, b""):
            arrived.put(line)
        arrived.put(b"")

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = arrived.get(timeout=silence_seconds)
        except queue.Empty:
            return
        if not line:
            return
        yield line
