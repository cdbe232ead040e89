"""Who deploys: one deployer per playbook and host, the others are told who works, from where and on what."""

from __future__ import annotations

import contextlib
import getpass
import json
import queue
import socket
import threading
from types import TracebackType

from orchestrator.base.errors import DeployError, HostError, Locked
from orchestrator.job import Job
from orchestrator.programs.ask import Answers
from orchestrator.programs.lock import Held, HeldBy, TakeLock

HEARTBEAT_SECONDS = 5.0
SILENCE_SECONDS = 30.0
PATIENCE_SECONDS = 1.0
ANSWER_SECONDS = 30.0


class Lock:
    """Held on the host while this context is open; freed by itself when the connection or this process ends."""

    def __init__(self, job: Job, doing: str) -> None:
        self._job = job
        request = TakeLock(
            instance=job.name,
            who=f"{getpass.getuser()}@{socket.gethostname()}",
            doing=doing,
            heartbeat_seconds=SILENCE_SECONDS,
            patience_seconds=PATIENCE_SECONDS,
        )
        self._stream = Answers(job.host, request)
        self._ended = threading.Event()
        self._lost = False
        self._before: str | None = None
        self._answered: queue.Queue[Held | HeldBy | Exception | None] = queue.Queue()
        self._heart = threading.Thread(target=self._beat, daemon=True)
        self._ear = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Lock:
        self._ear.start()
        try:
            answer = self._answered.get(timeout=ANSWER_SECONDS)
        except queue.Empty:
            answer = None
        if isinstance(answer, Exception):
            self._stream.close()
            raise answer
        if not isinstance(answer, Held):
            self._stream.close()
            raise self._refusal(answer)
        self._before = answer.before
        self._heart.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._stream.close()
        self._heart.join()
        self._ear.join()

    def free_since(self, turn: str | None) -> bool:
        """Whether nobody has had the lock since this `turn` was seen (`Observed.turn`): what deployers change is as it was."""
        return turn is not None and turn == self._before

    def require(self) -> None:
        """Raise HostError("lock_lost") where the lock is no longer held: somebody else may be at work by now."""
        if self._lost:
            raise HostError(
                "lock_lost",
                f"{self._job.host.name}: the lock on {self._job.name} was lost; what was launched goes on",
            )

    def doing(self, what: str) -> None:
        """Tell others who look at the lock what is being done now."""
        self.require()
        self._stream.write(json.dumps({"doing": what}).encode() + b"\n")

    def _beat(self) -> None:
        while not self._ended.wait(HEARTBEAT_SECONDS):
            with contextlib.suppress(HostError, OSError):  # a lost connection shows where it matters
                self._stream.write(b"\n")

    def _listen(self) -> None:
        """The program answers once and then lives as long as the lock is held."""
        try:
            for value in self._stream.values():
                self._answered.put(value)
        except (DeployError, OSError) as error:
            self._answered.put(error)
        self._lost = not self._ended.is_set()
        self._answered.put(None)

    def _refusal(self, answer: HeldBy | None) -> Exception:
        if answer is None:
            return HostError(
                "lock_failed",
                f"{self._job.host.name}: the lock program ended without an answer",
            )
        who, since, doing = (answer.held_by.get(key, "unknown") for key in ("who", "since", "doing"))
        return Locked(
            "locked",
            f"{self._job.host.name}: {who} deploys {self._job.name} since {since} (host time): {doing}",
        )
