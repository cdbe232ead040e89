"""How is an engine held as a process under nohup, in a session of its own?"""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Set
from pathlib import Path
from typing import Any

from orchestrator.on_host.files import regular_file
from orchestrator.on_host.kinds.kind import EngineCommand, ExitRecord, Launch, Table
from orchestrator.on_host.processes import procs
from orchestrator.on_host.refusal import Refusal

_EXIT_BYTES = 64

# The engine is sent TERM by its parent's process id, or the whole session is: the supervisor outlives
# both, so that the exit status is always on record. A caught signal is default again in the engine. Only
# builtins follow the engine: a program would be a member of the session, and be ended with it. What the
# shell itself would say of a killed engine ("Killed") is no line of its log: dash, busybox and the ksh
# family have the redirections of a command in force themselves while they wait for it, so it gets the log
# back in a subshell.
SUPERVISOR = r"""
trap : TERM INT
record=$1
shift
exec 3>&2 2>/dev/null
( exec 2>&3 3>&-; exec "$@" )
code=$?
printf '%s\n' "$code" >"$record"
exit "$code"
"""


class Nohup:
    """The supervisor leads the session of its own number, and writes the engine's exit status into `exit`."""

    name = "nohup"
    description = "under nohup"

    def log(self, folder: Path, name: str) -> Path:
        return folder / name

    def start(self, command: EngineCommand, folder: Path, log: Path) -> dict[str, Any]:
        import shutil  # all three: who only looks starts nothing, and would import them too
        import subprocess
        import threading

        nohup = [program] if (program := shutil.which("nohup")) else []
        script = SUPERVISOR if nohup else "trap '' HUP" + SUPERVISOR
        output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            child = subprocess.Popen(
                [*nohup, "/bin/sh", "-c", script, "deploy-launch", str(folder / "exit"), *command.argv],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=command.folder,
                env={**command.inherited, **command.own},
                start_new_session=True,
            )
        except OSError as error:
            why = f"cannot start /bin/sh in {command.folder}: {error.strerror or error}"
            raise Refusal("cannot_start", why) from error
        finally:
            os.close(output)
        process = procs.process(child.pid)
        # A caller that lives longer than the launch must reap it; as a rule this program ends long before.
        threading.Thread(target=child.wait, daemon=True).start()
        if process is None:
            raise Refusal("cannot_start", f"pid {child.pid} was gone before it could be recorded")
        return {"pid": process.pid, "start_time": process.start_time, "session": process.pid}

    def held(self, launch: Launch, at: Table, ours: Set[int]) -> Set[int]:
        """The session.

        The kernel keeps its number from reuse while any process is in it. So as long as the leader is there, its start
        time decides. When it is gone the session may be ours without its leader or a later one without its own; then
        one of its processes must be ours by marker, by an earlier look, or print into our log. The log alone makes
        nobody ours: `tee -a`, a script of the user's, an editor have it open as well.
        """
        if launch.pid is None:
            return set()
        session = {pid for pid, process in at.living.items() if process.session == launch.pid}
        leader = at.processes.get(launch.pid)
        log = os.path.realpath(launch.log)
        witnesses = session & ours or {pid for pid in session if log in at.outputs(pid)}
        vouched = leader.start_time == launch.start_time if leader else bool(witnesses)
        return session if vouched else set()

    def end(self, launch: Launch) -> ExitRecord | None:
        record = launch.folder / "exit"
        try:
            at = record.stat().st_mtime
        except OSError:
            return None
        try:
            status = int(regular_file.read(record, _EXIT_BYTES))
        except (regular_file.Unfit, ValueError):
            return ExitRecord(None, at)
        return ExitRecord(
            status if status < 256 else 128 + status % 128, at
        )  # ksh says 256 + N, yash 384 + N

    def terminate(self, launch: Launch, heads: Collection[procs.Process]) -> None:
        for process in heads:
            _send(process, signal.SIGTERM)

    def kill(self, launch: Launch, members: Collection[procs.Process]) -> Set[int]:
        return {process.pid for process in members if _send(process, signal.SIGKILL)}


KIND = Nohup()


def _send(process: procs.Process, number: signal.Signals) -> bool:
    try:
        return procs.send(process, number)
    except PermissionError:  # it became another user's; it is named among those who live on
        return False
