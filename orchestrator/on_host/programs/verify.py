"""Is a checkpoint on this host whole, judged by its index and the headers of its shards?

No network is needed and no tensor is read, so 119 shards take a moment. What a header promises must
fill its file exactly, which catches a cut-off download, a Git LFS pointer and a saved error page.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import re
import threading
from collections.abc import Iterator
from typing import Any

from orchestrator.on_host.checkpoint.shards import TEXT_LIMIT, Broken, inside, opened, shard_tensors
from orchestrator.on_host.files import regular_file
from orchestrator.on_host.refusal import Refusal

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
DEEPEST = 100
"""Levels of objects and arrays in a config, which has ten; the planner, who edits them, reads no more."""
_CONFIG_BYTES = 1 << 20

_TOKENIZERS = re.compile(
    r"tokenizer\.(json|model.*)|.*\.tiktoken|tiktoken\.model|tekken\.json|vocab\.(json|txt)|spiece\.model|sentencepiece.*\.model"
)
_READ = 8 << 20
_HASHERS = 4


def main(request: dict[str, Any]) -> Any:
    """Judge the folder; with `deep` progress comes first, as {"progress": {bytes, total, file}}."""
    folder = os.path.expanduser(request["folder"])
    if not os.path.isdir(folder):
        raise Refusal("no_checkpoint", f"{folder} is not a folder on this host")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise Refusal("permission", f"{folder} cannot be read by uid {os.geteuid()}")
    known = request.get("files")
    if request.get("deep"):
        return _deep(folder, known or {})
    return _judged(folder, known or {})


def _judged(folder: str, known: dict[str, Any]) -> dict[str, Any]:
    bad: dict[str, str] = {}
    index, shards = _shards(folder, bad)
    tensors = size = 0
    for name in sorted(shards):
        try:
            names = shard_tensors(folder, name)
            tensors += len(names)
            size += os.stat(os.path.join(folder, name)).st_size
            _wanted_in(shards[name], names)
        except Broken as why:
            bad.setdefault(name, str(why))
    for name in sorted(known):
        try:
            _of_size(folder, name, known[name].get("size"))
        except Broken as why:
            bad.setdefault(name, str(why))
    _texts(folder, bad)
    return {
        "whole": not bad,
        "shards": len(shards),
        "tensors": tensors,
        "bytes": size,
        "bad": [{"file": name, "why": bad[name]} for name in sorted(bad)],
        "index": index,
    }


def _shards(folder: str, bad: dict[str, str]) -> tuple[str | None, dict[str, set[str]]]:
    """The index's name and each shard with the tensors that the index expects in it."""
    if os.path.lexists(os.path.join(folder, INDEX)):
        try:
            weights = _json(folder, INDEX).get("weight_map")
            return INDEX, _by_shard(weights)
        except Broken as why:
            bad[INDEX] = str(why)
            return INDEX, {}
    names = [name for name in os.listdir(folder) if name.endswith(".safetensors")]
    shards: dict[str, set[str]] = {name: set() for name in names}
    for name in names:
        series = re.fullmatch(r"(.*-)(\d+)(-of-)(\d+)(\.safetensors)", name)
        if series and int(series[4]) < 100_000:
            head, digits, of, last, tail = series.groups()
            for number in range(1, int(last) + 1):
                shards.setdefault(f"{head}{number:0{len(digits)}}{of}{last}{tail}", set())
    if not shards:
        bad[SINGLE] = "missing, and so is an index of shards"
    return None, shards


def _by_shard(weights: Any) -> dict[str, set[str]]:
    if not isinstance(weights, dict) or not weights:
        raise Broken("has no weight_map")
    shards: dict[str, set[str]] = {}
    for tensor, name in weights.items():
        if not isinstance(name, str) or not inside(name):
            raise Broken(f"names the shard {name!r:.80}, which is no file of this folder")
        shards.setdefault(name, set()).add(tensor)
    return shards


def _wanted_in(wanted: set[str], names: set[str]) -> None:
    missing = sorted(wanted - names)
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise Broken(f"lacks the tensor {missing[0][:80]}{more} that the index expects in it")


def _of_size(folder: str, name: str, size: int | None) -> None:
    with opened(folder, name) as file:
        actual = os.fstat(file.fileno()).st_size
    if size is not None and actual != size:
        raise Broken(f"{actual} bytes where the repository has {size}")


def _json(folder: str, name: str) -> dict[str, Any]:
    try:
        raw = regular_file.read(os.path.join(folder, name), TEXT_LIMIT)
    except regular_file.Unfit as why:
        raise Broken(str(why)) from why
    try:
        value = json.loads(
            raw.decode("utf-8")
        )  # as the engine reads it: no other encoding, no byte order mark
    except (ValueError, RecursionError) as error:
        pointer = raw.startswith(b"version https://git-lfs")
        raise Broken("a Git LFS pointer" if pointer else f"not JSON ({error})" if raw else "empty") from error
    if not isinstance(value, dict):
        raise Broken("not a JSON object")
    if len(raw) < _CONFIG_BYTES and _deeper(value, DEEPEST):
        raise Broken(f"nested too deep, more than {DEEPEST} levels")
    return value


def _deeper(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels == 0 or any(_deeper(part, levels - 1) for part in inner if isinstance(part, (dict, list)))


def _texts(folder: str, bad: dict[str, str]) -> None:
    """config.json must be there, a tokenizer too, and the other JSON files must be JSON."""
    names = os.listdir(folder)
    optional = ("generation_config.json", "hf_quant_config.json", "tokenizer.json", "tokenizer_config.json")
    for name in ("config.json", *(name for name in optional if name in names)):
        try:
            _json(folder, name)
        except Broken as why:
            bad[name] = str(why)
    if not any(_TOKENIZERS.fullmatch(name) for name in names):
        bad["tokenizer.json"] = "missing, and no other tokenizer file is there"


def _deep(folder: str, known: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Hash every file whose sha256 is known, several at a time, telling how far it is each second."""
    answer = _judged(folder, known)
    bad = {entry["file"]: entry["why"] for entry in answer["bad"]}
    todo: queue.Queue[str] = queue.Queue()
    for name in sorted(known):
        if known[name].get("sha256") and name not in bad:
            todo.put(name)
    total = sum(os.stat(os.path.join(folder, name)).st_size for name in list(todo.queue))
    done: dict[str, int] = {}
    threads = [
        threading.Thread(target=_hash_all, args=(folder, known, todo, done, bad), daemon=True)
        for _ in range(min(_HASHERS, todo.qsize()))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(1.0)
            yield _progress(done, total)
    yield _progress(done, total)
    answer["bad"] = [{"file": name, "why": bad[name]} for name in sorted(bad)]
    yield {**answer, "whole": not bad, "hashed": len(done)}


def _progress(done: dict[str, int], total: int) -> dict[str, Any]:
    hashed = dict(done)
    return {"progress": {"bytes": sum(hashed.values()), "total": total, "file": max(hashed, default=None)}}


def _hash_all(
    folder: str, known: dict[str, Any], todo: queue.Queue[str], done: dict[str, int], bad: dict[str, str]
) -> None:
    while True:
        try:
            name = todo.get_nowait()
        except queue.Empty:
            return
        done[name] = 0
        digest = hashlib.sha256()
        try:
            with opened(folder, name) as file:
                for block in iter(lambda: file.read(_READ), b""):
                    digest.update(block)
                    done[name] += len(block)
            if digest.hexdigest() != known[name]["sha256"]:
                raise Broken("its sha256 is not that of the repository")
        except Broken as why:
            bad[name] = str(why)
        except OSError as error:
            bad[name] = f"cannot be read: {error.strerror or error}"
