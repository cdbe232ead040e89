"""What must hold for every input whatever? One function an input goes into; it raises where something does not hold."""

from __future__ import annotations

import contextlib
import json
import math
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import safetensors

from orchestrator.base import yaml_text
from orchestrator.base.errors import CheckpointError, DeployError, UsageError
from orchestrator.base.yaml_file import load_model
from orchestrator.checkpoint.edits import documents, unified_diff
from orchestrator.diagnosis import lines
from orchestrator.diagnosis.engine import diagnose, diagnose_log
from orchestrator.diagnosis.hearsay import worded_by_a_client
from orchestrator.engines import sizing
from orchestrator.engines.kv_cache import CacheQuestion
from orchestrator.engines.vllm import kv_cache
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.engines.vllm.log.selector import parse as parse_refusal
from orchestrator.engines.vllm.sizing import cost
from orchestrator.facts.gather import Facts, every
from orchestrator.facts.source import Output, Query
from orchestrator.hosts.answers import Program, read_line
from orchestrator.on_host.checkpoint.shards import Broken, shard_tensors
from orchestrator.on_host.ports import listeners
from orchestrator.on_host.processes import gpu_memory, in_use
from orchestrator.on_host.programs import inspect_checkpoint, verify
from orchestrator.on_host.state import state
from orchestrator.patches.catalogue import load_all
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from orchestrator.playbook import playbook
from orchestrator.programs.inspect_checkpoint import Inspected
from orchestrator.programs.journal import read
from orchestrator.report import history
from orchestrator.survey.checkpoint import checkpoint
from orchestrator.survey.journal import fold, usual_seconds
from tests.kv_edits import plan_edits

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent


@dataclass(frozen=True)
class Target:
    """`check` takes an input; `seeds` are files that the inputs are made of, `words` what else stands in them."""

    check: Callable[[bytes], None]
    seeds: Callable[[], list[Path]]
    words: tuple[bytes, ...] = ()


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="fuzz-"))


def _held(what: object, why: str) -> None:
    if not what:
        raise AssertionError(why)


# Logs


def split_lines(data: bytes) -> None:
    """Lines are the same however the bytes come, and every line is read."""
    size = data[0] + 1 if data else 1
    whole = list(lines.cut([data]))
    _held(list(lines.cut(data[at : at + size] for at in range(0, len(data), size))) == whole, "cut differs")
    for number, raw in enumerate(whole, start=1):
        found = lines.parse_all(raw, number, GRAMMAR)
        _held(found, "a line without a record")
        _held(all(line.number == number for line in found), "another number")
        for line in found:
            worded_by_a_client(line.level, line.file, line.message, GRAMMAR.clients)
            parse_refusal(line.message)


@cache
def _told() -> list[bytes]:
    """Lines of labelled logs: what tells something, and what stands around it."""
    logs = sorted((TESTS / "diagnosis" / "cases").glob("*/*/*.log"))[::23]
    return [line for log in logs for line in log.read_bytes().split(b"\n")[-12:]]


@cache
def _patches() -> tuple[Patch, ...]:
    return load_all()


def _log(data: bytes) -> bytes:
    """Two bytes name a line of a real log; what follows 0xff up to a line end stands for itself."""
    known, out, at = _told(), [], 0
    while at < len(data):
        if data[at] == 0xFF:
            end = data.find(b"\n", at) if b"\n" in data[at:] else len(data)
            out.append(data[at + 1 : end])
            at = end + 1
        else:
            out.append(known[int.from_bytes(data[at : at + 2], "little") % len(known)])
            at += 2
    return b"\n".join(out)


def scanned(data: bytes) -> None:
    """Reading the telling lines alone comes to the same as reading all, however the bytes come."""
    size = data[0] * 16 + 1 if data else 1
    log = _log(data[1:80])
    whole = diagnose(lines.cut([log]), grammar=GRAMMAR, known=Known(), patches=_patches())
    pieces = [log[at : at + size] for at in range(0, len(log), size)]
    _held(
        diagnose_log(pieces, grammar=GRAMMAR, known=Known(), patches=_patches()) == whole,
        "the scan comes to another end",
    )


# Checkpoints


def edited(data: bytes) -> None:
    """An edit changes its member alone, is done once, and what it makes is JSON that asks for no KV quantisation."""
    first, _, second = data.partition(b"\0")
    files = {"config.json": first, **({"hf_quant_config.json": second} if second else {})}
    try:
        found = plan_edits(files)
    except CheckpointError:
        return
    again = {**files, **found.after}
    expected = {name: json.loads(text) for name, text in files.items()}
    for edit in found.edits:
        *way, last = edit.path.split("/")[1:]
        place = expected[edit.file]
        for step in way:
            place = place[step]
        if edit.op == "remove":
            del place[last]
        else:
            place[last] = None
    for name, text in again.items():
        _held(_same(json.loads(text), expected[name]), f"{name} says something else")
    for name, after in found.after.items():
        _held(_is_made_of(found.before[name], after), f"{name} was written anew")
        _held(found.before[name] == files[name], f"the original of {name} is another")
    _held(not plan_edits(again).edits, "an edit that leaves something to do")
    unified_diff(found)
    for version in ("0.14.0", "0.16.0", "0.33.0"):
        kv_cache.resolved(documents(again), version)


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)  # NaN is not equal to itself


def _is_made_of(before: bytes, after: bytes) -> bool:
    """Whether `after` is `before` with pieces taken out, but for a `null` in the place of a value."""
    rest = iter(before)
    return all(byte in rest for byte in re.sub(rb"(:\s*)null", rb"\1", after))


def described(data: bytes) -> None:
    """Whatever lies in a checkpoint's folder is described, judged and sized."""
    config, _, index = data.partition(b"\0")
    folder = _folder() / "checkpoint"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_bytes(config)
    (folder / "model.safetensors.index.json").write_bytes(index)
    told = inspect_checkpoint.main({"folder": str(folder)})
    json.dumps(told, allow_nan=False)
    found = checkpoint(Inspected.model_validate(told))
    verify.main({"folder": str(folder)})
    if "config.json" not in found.configs:
        return
    shape = json.loads(found.configs["config.json"])
    for dtype in ("auto", "fp8_e4m3"):
        cache = cost.kv_cache(CacheQuestion(shape, "0.32.0", dtype, 8, "9.0"))
        sizing.fit(
            memory_gib=94.0, weights_bytes=found.weights_bytes, cache=cache, context=4096, utilisation=0.9, gpus=8,
            overhead=sizing.Overhead(2.5, 5.0),
        )  # fmt: skip


def headers(data: bytes) -> None:
    """A shard is sound or broken, and sound where the safetensors library reads it."""
    (_folder() / "a.safetensors").write_bytes(data)
    try:
        shard_tensors(str(_folder()), "a.safetensors")
    except Broken as why:
        try:
            safetensors.deserialize(data)
        except Exception:
            return
        raise AssertionError(f"the library reads it, here it is {why}") from why


# Playbooks and patches


def loaded(data: bytes) -> None:
    """A file is a playbook, a patch, or wrong in a line of it."""
    with contextlib.suppress(UnicodeDecodeError, yaml_text.Wrong):
        _is_plain(yaml_text.read(data.decode()).value)
    path = _folder() / "a.yaml"
    path.write_bytes(data)
    for model in (playbook.PlaybookFile, Patch):
        try:
            found = load_model(path, model, code="x")
        except UsageError as error:
            _held(all(line.startswith(f"{path}:") for line in error.message.splitlines()[:1]), error.message)
        else:
            json.dumps(found.model_dump(mode="json"), allow_nan=False).encode()


def _is_plain(value: Any) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            _is_plain(key)
            _is_plain(inner)
    elif isinstance(value, list):
        for inner in value:
            _is_plain(inner)
    else:
        _held(type(value) in (str, bool, int, float, type(None)), f"a {type(value).__name__}")


@cache
def _base() -> playbook.Playbook:
    return playbook.load(TESTS / "playbook" / "cases" / "base.yaml")


def overridden(data: bytes) -> None:
    """An option changes a playbook, or is wrong."""
    options: dict[str, list[str]] = {"settings": [], "engine_args": [], "env": []}
    for line in data.decode("utf-8", "surrogateescape").split("\n")[:6]:
        options[("settings", "engine_args", "env")[len(line) % 3]].append(line[1:])
    try:
        changed = _base().with_overrides(**options, ambient={"HF_TOKEN": "hush"})
    except UsageError as error:
        _held("hush" not in error.message, "a secret is told")
    else:
        json.dumps(changed.model_dump(mode="json"), allow_nan=False)


# The host


def journals(data: bytes) -> None:
    """Whatever stands in the journal is read, folded and shown."""
    (_folder() / "journal.jsonl").write_bytes(data)
    records = [read(record) for record in state.records(_folder())]
    fold(records)
    usual = usual_seconds(records)
    _held(usual is None or math.isfinite(usual), "no time")
    history.table(records, 80)
    for line in data.split(b"\n"):
        with contextlib.suppress(DeployError):
            read_line(Program("host", "module", "python3"), line)


TEXTS: tuple[Callable[[str], Any], ...] = (
    gpu_memory.parse_used,
    gpu_memory.parse_apps,
    listeners.parse,
    lambda text: in_use.mapped_files(text.encode()),
)


def facts(data: bytes) -> None:
    """Whatever a program on the host prints is a fact or none."""
    text = data[1:].decode("utf-8", "replace")
    output = Output(data[0] % 2 if data else 0, text, text[:200])
    known = {fact.name: fact.read(output, Query("/models", "python3")) for fact in every()}
    for parse_text in TEXTS:
        parse_text(text)
    cap = Facts(known).compute_cap
    _held(cap is None or cap.replace(".", "").isdecimal(), "no capability")


def _files(*patterns: str, largest: int = 1 << 20) -> Callable[[], list[Path]]:
    """The files of these patterns of at most so many bytes; what takes long to read is tried less often."""

    def found() -> list[Path]:
        paths = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
        return [path for path in paths if path.is_file() and path.stat().st_size <= largest]

    return found


def _nothing() -> list[Path]:
    return []


def _quoted(text: str) -> tuple[bytes, ...]:
    return tuple(f'"{word}"'.encode() for word in text.split())


JSON = _quoted(
    "modelopt compressed-tensors fp8 nvfp4 float F32 bfloat16 launch outcome patch revert stop clean"
) + tuple(b'{ } [ ] , : null true 1e999 NaN Infinity -1 7 "" \\u \\ud800 999999999999999999999999'.split())
CONFIG = _quoted(
    "quantization_config kv_cache_scheme kv_cache_quant_algo quantization text_config quant_method producer name num_bits type dynamic strategy "
    "compression_config kv_lora_rank num_hidden_layers num_attention_heads head_dim torch_dtype layer_types sliding_window linear_attn_config "
    "weight_map metadata total_size dtype shape data_offsets __metadata__"
)
RECORDS = _quoted(
    "action launch result cause finding patch folder files flags environment at machine by_person value error code message consent removed kept "
    "name before after why way symlink ended shm_removed survivors"
)
YAML = (
    *b"&a *a <<: - ? : !! --- .inf .nan ' { } [ ] # ~ null 2026-02-25 0x".split(),
    b'"',
    b"|\n",
    b">-\n",
    b"%YAML 1.1",
    b"\n  ",
    b": ",
)
LOG = (
    b"(Worker_TP0 pid=7) ", b"ERROR 02-20 21:35:07 [core.py:97] ", b"Traceback (most recent call last):\n", b"  File ", b"ValueError: ", b"\r",
    b"\x1b[31m", b'{"log":"', b'time="', b" msg=", b"[rank0]: ", b"node-1  | ", b"^", b"The above exception", b"\xff",
)  # fmt: skip
GPUS = (
    b"GPU0",
    b"NV18",
    b"PIX",
    b"[N/A]",
    b", ",
    b"\t",
    b"MiB",
    b"0A",
    b"fields: ",
    b"folder=",
    b"parent=",
    b"not_a_folder",
    b"machine-id",
)

TARGETS = {
    "lines": Target(split_lines, _files("tests/diagnosis/cases/*/*/*.log"), LOG),
    "scan": Target(scanned, _nothing, LOG),
    "edits": Target(edited, _files("tests/checkpoint/cases/*/*.json"), (*JSON, *CONFIG, b"\0")),
    "checkpoint": Target(described, _files("tests/checkpoint/cases/*/*.json"), (*JSON, *CONFIG, b"\0")),
    "shards": Target(headers, _nothing, (*JSON, *CONFIG, b"\x08\0\0\0\0\0\0\0")),
    "yaml": Target(loaded, _files("playbooks/*.yaml", "patches/**/*.yaml", "tests/playbook/cases/**/*.yaml", largest=1000), YAML),
    "overrides": Target(overridden, _files("tests/playbook/cases/*.yaml"), (*YAML, b"arguments.", b"environment.", b"=")),
    "journal": Target(journals, _nothing, (*JSON, *RECORDS, b"\n", b'"2026-02-20T21:00:00Z"')),
    "facts": Target(facts, _files("tests/facts/cases/*/*.txt"), GPUS),
}  # fmt: skip
