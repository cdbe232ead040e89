"""What happens to a launch while the controller waits for it?"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from orchestrator.on_host.kinds import launches
from orchestrator.on_host.kinds.kind import Launch
from orchestrator.on_host.ports import endpoint, listeners
from orchestrator.on_host.processes import procs
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.state.state import known_folder

HEARTBEAT_SECONDS = 2.0
_BLIND_POLL_SECONDS = 0.1  # where the kernel has no pidfd


def main(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields what changes, until the launch has ended or standard input ends.

    It has ended when its supervisor is gone and none of its processes listens on the port: somebody may have ended the
    supervisor alone, and a server that goes on serving is no failed launch.

    request: instance, launch, port, host, health_path (null: it answers no requests, and nothing is asked of it),
    interval (seconds between health questions), model (id that must be listed, or null), api_key. Yields, `waited` in seconds:

    {"process": "running", "launch", "pid"} first, where it runs at all, and again with the pid of the server where that
    lives on without its supervisor;
    {"health": status or null} at first and on each change;
    {"waited", "log_bytes", "work"} at least every two seconds: work is what its processes have done so far,
    {"cpu_seconds", "read_bytes" (from disks)}, those of processes that have ended left out;
    {"healthy": bool, "models", "listed", "locked", "ours", "owner"} whenever /health begins to answer 200, and when
    what follows from it changes: healthy when /v1/models answers too, listed when it names the model, locked when it asks
    for another key than it was given, ours when no other process answers on the port; `owner` {ours, pid, command, user, since} or null;
    {"process": "server_gone", "members"} when a server that answered is no longer there, though the
    supervisor is; {"exited": code or null, "log_bytes", "members"} at the end: the code is null where
    the supervisor could not record it, `members` [{pid, name}] live on without it.
    """
    state = known_folder(request["instance"])
    launch = launches.load(state, request["launch"])
    if launch is None:
        raise Refusal("no_launch", f"there is no launch {request['launch']} on this machine")
    began = time.monotonic()
    while (holder := _holder(launch, request)) is not None:
        yield {"process": "running", "launch": launch.number, "pid": holder.pid}
        with _Watched(holder) as watched, _Asking(launch, request, watched.wake) as asking:
            beat = began
            while True:
                yield from asking.answers()
                if watched.controller_left:
                    return
                if watched.ended():
                    break
                if time.monotonic() >= beat:
                    waited = round(time.monotonic() - began, 1)
                    yield {"waited": waited, "log_bytes": _size(launch), "work": _work(launch)}
                    beat = time.monotonic() + HEARTBEAT_SECONDS
                watched.wait(beat - time.monotonic())
    yield {"exited": launch.exit_code(), "log_bytes": _size(launch), "members": _members(launch)}


def _holder(launch: Launch, request: dict[str, Any]) -> procs.Process | None:
    """The process by whose end the launch ends: its supervisor, or its server where that outlived it."""
    at = launches.table()
    supervisor = launches.supervisor(launch, at)
    if supervisor is not None:
        return supervisor
    members = [member.pid for member in launches.members(launch, at)]
    if not members or not request["health_path"]:
        return None
    host = endpoint.reachable(request.get("host") or "127.0.0.1")
    inodes = [listener.inode for listener in listeners.listening(host, request["port"])]
    serving = [pid for pid in listeners.owners(inodes, members) if pid in members]
    return at.processes[serving[0]] if serving else None


def _size(launch: Launch) -> int:
    try:
        return launch.log.stat().st_size
    except OSError:
        return 0


def _work(launch: Launch) -> dict[str, float]:
    pids = [member.pid for member in launches.look(launch, launches.table())[0]]
    return {
        "cpu_seconds": round(sum(procs.cpu_seconds(pid) for pid in pids), 2),
        "read_bytes": sum(procs.disk_bytes_read(pid) for pid in pids),
    }


def _members(launch: Launch) -> list[dict[str, Any]]:
    living, _ = launches.look(launch, launches.table())
    return [{"pid": member.pid, "name": procs.name(member)} for member in living]


class _Watched:
    """The end of what holds the launch, the controller's going, and a wake-up, in one place to wait."""

    def __init__(self, holder: procs.Process) -> None:
        self._holder = holder
        self._poll = select.poll()
        self._input = sys.stdin.fileno()
        self._waking = threading.Lock()
        self._open = True
        self.controller_left = False

    def __enter__(self) -> _Watched:
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        try:
            self._pidfd = procs.open_pidfd(self._holder)
        except ProcessLookupError:
            self._pidfd = None
        for descriptor in (self._woken, self._input, self._pidfd):
            if descriptor is not None:
                self._poll.register(descriptor, select.POLLIN)
        return self

    def __exit__(self, *_: object) -> None:
        with self._waking:  # the thread may still be at it, and the number may soon name another file
            self._open = False
            for descriptor in (self._woken, self._waker, self._pidfd):
                if descriptor is not None:
                    os.close(descriptor)

    def ended(self) -> bool:
        return not procs.same(self._holder)

    def wake(self) -> None:
        """From another thread: there is something to tell."""
        with self._waking, contextlib.suppress(BlockingIOError):  # a full pipe wakes as well
            if self._open:
                os.write(self._waker, b"x")

    def wait(self, seconds: float) -> None:
        limit = seconds if self._pidfd is not None else min(seconds, _BLIND_POLL_SECONDS)
        for descriptor, _ in self._poll.poll(max(0.0, limit) * 1000):
            if descriptor == self._woken:
                os.read(self._woken, 4096)
            elif descriptor == self._input and not os.read(self._input, 4096):
                self.controller_left = True


class _Asking:
    """A thread that asks for health, since a server that accepts but never answers must hide no exit."""

    def __init__(self, launch: Launch, request: dict[str, Any], wake: Callable[[], None]) -> None:
        self._launch, self._request, self._wake = launch, request, wake
        self._host = endpoint.reachable(request.get("host") or "127.0.0.1")
        self._said: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> _Asking:
        if self._request["health_path"]:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    def answers(self) -> Iterator[dict[str, Any]]:
        while not self._said.empty():
            yield self._said.get()

    def _say(self, value: dict[str, Any]) -> None:
        if not self._stop.is_set():
            self._said.put(value)
            self._wake()

    def _run(self) -> None:
        health: int | str | None = "unknown"
        judged: dict[str, Any] | None = None
        while True:
            before, health = health, self._health()
            if health != before:
                self._say({"health": health})
                judged = None
                if health is None and isinstance(before, int) and not self._listener():
                    self._say({"process": "server_gone", "members": _members(self._launch)})
            if health == 200:
                now = self._judge()
                if now != judged:
                    judged = now
                    self._say(now)
            if self._stop.wait(self._request["interval"]):
                return

    def _health(self) -> int | None:
        return endpoint.health(self._host, self._request["port"], self._request["health_path"])

    def _listener(self) -> dict[str, Any] | None:
        members, _ = launches.look(self._launch, launches.table())
        return listeners.occupant(self._host, self._request["port"], [member.pid for member in members])

    def _judge(self) -> dict[str, Any]:
        wanted = self._request.get("model")
        key = self._request.get("api_key")
        answer = endpoint.ask(self._host, self._request["port"], "/v1/models", api_key=key)
        models = endpoint.parse_models(answer)
        listener = self._listener()
        ours = listener is not None and listener["ours"]
        listed = models is not None and (wanted is None or wanted in models)
        return {
            "healthy": models is not None,
            "models": list(models or ()),
            "listed": listed,
            "locked": answer.status in (401, 403),
            "ours": ours,
            "owner": listener,
        }
