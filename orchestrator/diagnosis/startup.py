"""How far has a launch come, and what has its log said about itself?"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from orchestrator.diagnosis.lines import Line
from orchestrator.engines.vllm.phases import PHASES


@dataclass(frozen=True, slots=True)
class Phase:
    """The phase of a launch: `done` of `total` items where the log counts them, `eta_seconds` where it says
    so, and the number of the line that said it last."""

    name: str
    done: int | None = None
    total: int | None = None
    eta_seconds: int | None = None
    line: int = 0


_MILESTONES = re.compile(
    r"(?P<up>Application startup complete\.|Uvicorn running on )"
    r"|(?P<starting_server>Starting vLLM (?:API )?server|Available routes are:|Supported_? ?tasks: )"
    r"|(?P<capturing_graphs>Capturing CUDA graphs?|Capturing cudagraphs|Graph capturing finished)"
    r"|(?P<allocating_kv_cache>Available KV cache memory: |GPU KV cache size: |# GPU blocks: |Maximum concurrency for )"
    r"|(?P<compiling>Dynamo bytecode transform time|for vLLM's torch\.compile|Compiling a graph|torch\.compile t(?:akes|ook))"
    r"|(?P<profiling>Loading weights took|Loading model weights took|Model loading took)"
    r"|(?P<loading_weights>[Ll]oading (?:safetensors|shards|pt checkpoint)|Multi-thread loading|Prefetching checkpoint files)"
    r"|(?P<downloading>\.safetensors: {1,8}\d{1,3}%|Time spent downloading weights)"
    r"|(?P<starting_workers>world_size=\d{1,6} rank=|is assigned as DP rank|vLLM is using nccl|Starting to load model)"
    r"|(?P<starting_engine>Initializing an? (?:V\d )?LLM engine \(v|Connecting to existing Ray cluster|Started a local Ray)"
    r"|(?P<configuring>vLLM (?:API )?server version |non-default args: |args: Namespace\(|Resolved architecture: "
    r"|Using max model len |^\W{5,80}version \d{1,4}\.\d{1,4}\S{0,80}$)"
)
_HINTS = (
    " startup complete", "Uvicorn running", "Starting vLLM", "Available routes", "upported", "Capturing", "capturing",
    "KV cache memory: ", "KV cache size: ", "GPU blocks", "concurrency", "Dynamo", "torch.compile", "Compiling", "oading ", "Prefetching",
    ".safetensors: ", "Time spent", "world_size=", "DP rank", "using nccl", "Starting to load", "LLM engine", "Ray",
    " version ", "non-default args", "args: Namespace", "Resolved arch", "max model len",
)  # fmt: skip
"""One of these is in every milestone; looking for them is ten times as fast as the expression."""
_SHARDS = re.compile(
    r"\d{1,3}% Completed \| (?P<done>\d{1,9})/(?P<total>\d{1,9}) \[[^<\]]{1,40}<(?P<eta>[\d:?]{1,20})"
    r"|\|\s{0,8}(?P<done2>\d{1,9})/(?P<total2>\d{1,9}) \[[^<\]]{1,40}<(?P<eta2>[\d:?]{1,20})"
)
_START = re.compile(
    r"vLLM (?:API )?server version |non-default args: |args: Namespace\(|^\W{5,80}version \d{1,4}\.\d{1,4}\S{0,80}$"
)
_VERSION = re.compile(
    r"(?:vLLM (?:API )?server version |LLM engine \(v|^\W{5,80}version )(?P<version>\d{1,4}\.\d{1,4}[\w.+-]{0,80})"
)
_ENGINE_CONFIG = re.compile(r"LLM engine \(v[^)]{0,200}\) with config: (?P<config>.*)$")
_SETTING = re.compile(r"(?P<key>\b[a-z]\w{0,80})=(?:'(?P<quoted>[^']*)'|(?P<plain>[^,()\s]+))")
_ARGUMENTS = re.compile(
    r"^.{0,400}?(?:non-default args: (?P<dict>\{.*\})|args: Namespace\((?P<namespace>.*)\)$)"
)
_PAIR = re.compile(r"'(?P<key>\w{1,80})': (?P<value>'[^']*'|\"[^\"]*\"|\[[^\]]{0,2000}\]|[^,}\s]+)")
_PROMPTS = frozenset("+$#>")
_COMMAND = re.compile(
    r"^[+$#>] ?(?:nohup |exec |sudo |env ){0,8}(?P<command>(?:\S{0,400}/)?vllm serve .*|\S{0,400}python\S{0,40} -m vllm\.\S{1,200} .*)$"
)
_FLAG = re.compile(r"--(?P<name>[A-Za-z][\w-]*)(?:[= ](?P<value>'[^']*'|\"[^\"]*\"|(?!--)\S+))?")
_KV_DTYPE = re.compile(r"Using (?P<dtype>\S{1,80}) data type to store kv cache")
_KV_TOKENS = re.compile(r"KV cache size: (?P<tokens>[\d,]{1,20}) tokens")
_CAPABILITY = re.compile(
    r"Device capability (?P<capability>\d{1,3}\.\d{1,3}) not supported|compute capability (?P<also>\d{1,3}\.\d)\b"
)
_BACKEND = re.compile(r"Using (?P<backend>[A-Z][A-Z0-9_]{1,80}) (?:attention )?backend")
_STARTERS = re.compile(
    r"(?:^|[./])(?:utils|api_utils|api_server|arg_utils|launcher|serve)(?:\.py)?(?::\d+)?$"
)
"""The files of vLLM (0.6 to 0.33) that say with which version and arguments a server starts."""
_STOPPING = re.compile(
    r"\[shutdown\] (?:EngineCore: trigger received|API server: shutdown triggered)|^INFO: +Shutting down$"
)
_STALL = "No available shared memory broadcast block found"

TELLING = (
    _MILESTONES.pattern, _START.pattern, r"vllm serve | -m vllm\.", _KV_DTYPE.pattern, _CAPABILITY.pattern, _BACKEND.pattern,
    _STOPPING.pattern, _STALL,
)  # fmt: skip
"""What a line must fit to change more than `last` and `stalled`."""


class StartUp:
    """Feed it the lines of one launch; `phase` is where it is, the other attributes what it said.

    `arguments` are the arguments that were given (names with underscores), None as long as the log has
    not listed them; `engine` the engine configuration as resolved, with `kv_cache_dtype` from wherever
    the log said it first (on `engine_line`). `reached` is the line on which each phase began; `stopping` the
    first to say that the server shuts down; `stalled` counts
    notices of a stall since anything else was said.
    """

    def __init__(self) -> None:
        self.phase = Phase("starting")
        self.begun = False
        self.vllm_version: str | None = None
        self.compute_cap: str | None = None
        self.kv_tokens: int | None = None
        self.attention_backend: str | None = None
        self.arguments: Mapping[str, str] | None = None
        self.engine: Mapping[str, str] = MappingProxyType({})
        self.api_pid: int | None = None
        self.up_line: int | None = None
        self.clients = False
        """Whether the log shows clients, though not that the server came up."""
        self.stopping: Line | None = None
        self.last: Line | None = None
        self.stalled = 0
        self.engine_line: int | None = None
        self.reached: dict[str, int] = {}
        self.dresses: set[str | None] = set()
        """What the milestones of this launch came in."""
        self._listed = False

    @property
    def kv_cache_dtype(self) -> str | None:
        """What the engine resolved ("auto", "fp8_e4m3", ...), None if the log does not say."""
        return self.engine.get("kv_cache_dtype")

    def phase_at(self, number: int) -> str:
        """The phase in which the line of that number was written."""
        passed = [(line, phase) for phase, line in self.reached.items() if line <= number]
        return max(passed, default=(0, PHASES[0]))[1]

    @property
    def gpus(self) -> int | None:
        """GPUs of one replica: tensor times pipeline parallel size, as the engine or the command line says."""
        sizes = [self._size("tensor_parallel_size"), self._size("pipeline_parallel_size")]
        return None if sizes == [None, None] else (sizes[0] or 1) * (sizes[1] or 1)

    def _size(self, name: str) -> int | None:
        size = self.engine.get(name) or (self.arguments or {}).get(name, "")
        return int(size) if size.isdecimal() and len(size) < 10 else None

    @staticmethod
    def is_progress(message: str) -> bool:
        """Whether a message shows that the start went on."""
        return any(hint in message for hint in _HINTS) and _MILESTONES.search(message) is not None

    @staticmethod
    def is_start(line: Line) -> bool:
        """Whether `line` is one that an API server says when it starts, or a shell that starts one."""
        text = line.message
        if text[:1] in _PROMPTS and line.level is None and _COMMAND.match(text):
            return True
        if not (" version " in text or "args: " in text):
            return False
        child = (line.process or "").startswith(("Engine", "Worker", "Vllm", "Ray"))
        # what stands further inside is a quotation
        return not child and _START.match(text) is not None

    def begins(self, line: Line) -> bool:
        """Whether another launch begins with `line`, while this one has begun already."""
        if not (self.begun or self.clients) or not self.is_start(line):
            return False
        if not self.begun:  # the end of an earlier launch was left in the log
            return True
        if line.message[:1] in _PROMPTS:
            return True
        other = line.pid is not None and self.api_pid is not None and line.pid != self.api_pid
        return other or self.phase.name not in ("starting", "configuring")

    @property
    def serves_since(self) -> int | None:
        """The line since which clients may have worded what the log says; None as long as there are none."""
        return 0 if self.up_line is None and self.clients else self.up_line

    def restarts(self, line: Line) -> bool:
        """Whether another launch begins with `line` while this one serves: the program itself says so in a record."""
        said = line.level == "INFO" and line.file is not None and _STARTERS.search(line.file) is not None
        return said and self.begins(line)

    def skip(self, last: Line) -> None:
        """Take note of the last of some lines that change nothing else."""
        if last.message.strip():
            self.last, self.stalled = last, 0

    def feed(self, line: Line) -> Phase:
        """Take a line in and give the phase after it."""
        text = line.message
        if text.strip():
            self.stalled = self.stalled + 1 if _STALL in text else 0
            self.last = line
        if self.up_line is not None:
            # what a launch is was said before anybody could send it a request
            self._notice_stop(line)
            return self.phase
        found = _MILESTONES.search(text) if any(hint in text for hint in _HINTS) else None
        if found:
            self.dresses.add(line.dress)
            self._advance(str(found.lastgroup).replace("_", " "), line)
            self._read(line)
        elif text[:1] in _PROMPTS and _COMMAND.match(text):
            self._command(text)
        elif "data type to store kv cache" in text or "capability" in text or "backend" in text:
            self._read_details(text, line.number)
        else:
            self._notice_stop(line)
        return self.phase

    def _notice_stop(self, line: Line) -> None:
        if self.stopping is None and "hut" in line.message and _STOPPING.search(line.message):
            self.stopping = line

    def _advance(self, name: str, line: Line) -> None:
        if PHASES.index(name) < PHASES.index(self.phase.name):
            return
        counted = _SHARDS.search(line.message)
        if counted and name in ("loading weights", "downloading", "capturing graphs"):
            done, total = counted["done"] or counted["done2"], counted["total"] or counted["total2"]
            eta = _seconds(counted["eta"] or counted["eta2"])
            self.phase = Phase(name, int(done), int(total), eta, line.number)
        else:
            self.phase = Phase(name, line=line.number)
        self.reached.setdefault(name, line.number)
        if name == "up":
            self.up_line = self.up_line or line.number

    def _read(self, line: Line) -> None:
        text = line.message
        if _START.search(text):
            self.begun = True
            self.api_pid = self.api_pid or line.pid
        if self.vllm_version is None and (found := _VERSION.search(text)):
            self.vllm_version = found["version"]
        if not self._listed and (found := _ARGUMENTS.search(text)):
            self.arguments, self._listed = _arguments(found["dict"], found["namespace"]), True
        if found := _ENGINE_CONFIG.search(text):
            self.engine, self.engine_line = MappingProxyType(_settings(found["config"])), line.number
        if found := _KV_TOKENS.search(text):
            self.kv_tokens = int(found["tokens"].replace(",", ""))

    def _read_details(self, text: str, number: int) -> None:
        if found := _KV_DTYPE.search(text):
            self.engine = MappingProxyType({"kv_cache_dtype": found["dtype"], **self.engine})
            self.engine_line = self.engine_line or number
        if self.compute_cap is None and (found := _CAPABILITY.search(text)):
            self.compute_cap = found["capability"] or found["also"]
        if found := _BACKEND.search(text):
            self.attention_backend = found["backend"]

    def _command(self, text: str) -> None:
        self.begun = True
        if not self._listed:
            self.arguments = MappingProxyType(
                {
                    found["name"].replace("-", "_"): (found["value"] or "True").strip("'\"")
                    for found in _FLAG.finditer(text)
                }
            )


def _settings(text: str) -> dict[str, str]:
    """`key=value` pairs; of a name that nested configurations repeat, the first counts."""
    found: dict[str, str] = {}
    for pair in _SETTING.finditer(text):
        found.setdefault(pair["key"], pair["quoted"] if pair["quoted"] is not None else pair["plain"])
    return found


def _arguments(listed: str | None, namespace: str | None) -> Mapping[str, str]:
    if namespace is not None:
        return MappingProxyType(_settings(namespace))
    try:
        given = ast.literal_eval(listed or "{}")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return MappingProxyType(
            {pair["key"]: pair["value"].strip("'\"") for pair in _PAIR.finditer(listed or "")}
        )
    return MappingProxyType(
        {str(key): str(value) for key, value in given.items()} if isinstance(given, dict) else {}
    )


def _seconds(clock: str) -> int | None:
    parts = clock.split(":")
    if not all(part.isdigit() for part in parts):
        return None
    total = 0
    for part in parts:
        total = total * 60 + int(part)
    return total
