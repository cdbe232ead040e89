"""What is an incident, and what does it say by itself: a cause, or only what followed from one?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

WRAPPERS = re.compile(
    r"Engine (?:core|process) (?:initialization failed|failed to start)|WorkerProc initialization failed"
    r"|Worker failed with error|EngineCore encountered an issue|EngineDeadError|See stack trace|Executor failed\."
    r"|Error executing method|ray::\w|MQEngineDeadError|Failed core proc"
)
"""Sentences that only say that another process failed (vLLM 0.6 to 0.33)."""
TEARDOWN = re.compile(
    r"^(?:[\w.]{0,200}\.)?(?:RuntimeError: cancelled$|CancelledError|KeyboardInterrupt|SystemExit|GeneratorExit|BrokenPipeError"
    r"|EOFError|ConnectionResetError|ConnectionRefusedError|ZMQError|DistNetworkError|DistBackendError: .{0,400}remote process)"
    r"|Connection (?:reset|closed) by (?:remote )?peer|Broken pipe|was likely (?:closed|shut down)"
    r"|NCCL error: remote process exited|ncclRemoteError|[Cc]ommunicator was aborted"
    r"|(?:recvValue|sendBytes|recvBytes|recvVector) failed|failed to recv, got 0 bytes|Socket closed$"
)
FATAL_TITLES = re.compile(
    r"^(?:WorkerProc (?:failed|hit)|EngineCore (?:failed|encountered|hit)|AsyncLLM output_handler failed)"
)
"""Headings that vLLM gives to the traceback of a process that will not go on."""

_ENGINE_PROCESSES = ("EngineCore", "Worker", "Vllm", "VLLM", "Ray", "MainProcess")
_ENGINE_FILES = re.compile(
    r"(?:^|[./])(?:core|core_client|async_llm|async_llm_engine|llm_engine|engine|client|multiproc_\w+|ray_\w*executor\w*"
    r"|\w+_executor|worker\w*|\w+_worker|gpu_model_runner|shm_broadcast|coordinator)(?:\.py)?(?::\d+)?$"
    r"|\.(?:cpp|cc|cu|hpp)(?::\d+)?$"
)
"""Where vLLM (0.6 to 0.33) says that an engine has died, and the libraries under it."""

_MAIN = ("<module>", "_run_module_as_main")
_ENTRIES = (*_MAIN, "_bootstrap")
"""The outermost functions of a Python program and of a multiprocessing child."""

Role = Literal["initiating", "cascade", "teardown", "benign"]
"""initiating: may be a root cause; cascade: repeats or wraps somebody else's failure; teardown: what a dying
launch says (broken pipes, cancelled calls); benign: caught and logged below ERROR."""
Kind = Literal["exception", "refusal", "crash", "line"]
"""line: not an incident by itself, the last line of a log that stands still or one that a patch looks for."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a traceback."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Raised:
    """One exception of a chain: `exception` is the full name, `text` the whole of "Name: message"."""

    exception: str | None
    text: str
    line: int
    frames: tuple[Frame, ...] = ()
    caused_next: bool = False
    """Whether the next of the chain was raised `from` this one, rather than while handling it."""


@dataclass(frozen=True, slots=True)
class Incident:
    """One thing that went wrong. `chain` begins with the exception that came first and is never empty."""

    kind: Kind
    role: Role
    process: str | None
    pid: int | None
    level: str | None
    title: str
    chain: tuple[Raised, ...]
    first_line: int
    last_line: int
    lines: int
    file: str | None = None
    """The source file of the record that began it ("core.py:97")."""

    @property
    def of_engine(self) -> bool:
        """Whether the engine says it of itself: one of its own processes, or its own code in the API server.

        Anything else may be printed by whoever repeats what clients send, once there are clients.
        """
        if self.level is not None and self.file:
            # an engine's process logs clients' grammars, adapters and request names as well
            return _ENGINE_FILES.search(self.file) is not None
        return (self.process or "").startswith(_ENGINE_PROCESSES)

    @property
    def fatal(self) -> bool:
        """Whether the incident itself shows that a process of the launch ended by it."""
        if self.kind != "exception" or self.role == "cascade":
            return True
        entry = self.chain[-1].frames[0] if self.chain[-1].frames else None
        uncaught = self.level is None and entry is not None and entry.function in _ENTRIES
        return uncaught or FATAL_TITLES.match(self.title) is not None

    @property
    def leaves_program(self) -> bool:
        """Whether the program itself, not a child, ended by this exception."""
        frames = self.chain[-1].frames
        return (
            self.kind == "exception" and self.level is None and bool(frames) and frames[0].function in _MAIN
        )

    @property
    def root(self) -> Raised:
        """The cause of the last exception as its author saw it, wrappers left out.

        A cause given with `from` is deeper; one that was merely being handled mostly is not.
        """
        at = len(self.chain) - 1
        while at > 0 and (self.chain[at - 1].caused_next or role_of(self.chain[at]) != "initiating"):
            if role_of(self.chain[at - 1]) != "initiating":
                break
            at -= 1
        return self.chain[at]


def role_of(raised: Raised) -> Role:
    """What an exception says by itself, whoever logged it."""
    if WRAPPERS.search(raised.text):
        return "cascade"
    return "teardown" if TEARDOWN.search(raised.text.split("\n", 1)[0]) else "initiating"
