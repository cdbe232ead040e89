"""What does the planner need to know about a checkpoint's folder, in one round trip?"""

from __future__ import annotations

import base64
import os
from typing import Any

from orchestrator.on_host.checkpoint import code_files
from orchestrator.on_host.checkpoint.configs import CONFIGS
from orchestrator.on_host.checkpoint.shards import TEXT_LIMIT, inside
from orchestrator.on_host.files import regular_file
from orchestrator.on_host.programs.verify import INDEX
from orchestrator.on_host.state import last_download, state

SINGLE = "model.safetensors"
"""The file of a checkpoint that needs no index."""
LIMIT = 16 << 20
"""Bytes of a config file above which it is named as too large instead of sent."""
_LARGEST = 1 << 62


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Describe `folder`; with `instance`, its manifest too where it was written for this folder."""
    folder = os.path.realpath(os.path.expanduser(request["folder"]))
    there = os.path.isdir(folder)
    names = sorted(os.listdir(folder)) if there and os.access(folder, os.R_OK | os.X_OK) else []
    owner = os.stat(folder).st_uid if there else None
    configs, unreadable = _configs(folder, names)
    index = _index(folder, names)
    return {
        "exists": there,
        "folder": folder,
        "owner_uid": owner,
        "owned_by_us": owner == os.geteuid(),
        "writable": os.access(folder if there else _nearest(folder), os.W_OK | os.X_OK),
        "symlinks": {
            name: os.readlink(os.path.join(folder, name))
            for name in names
            if os.path.islink(os.path.join(folder, name))
        },
        "configs": configs,
        "unreadable": unreadable,
        "index": index,
        "weights_bytes": _weights(folder, names, index),
        "code": code_files.describe(folder) if there else None,
        "disk": _disk(folder),
        "manifest": _manifest(request.get("instance"), folder),
    }


def _configs(folder: str, names: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The bytes of the config files (base64), and of those that cannot be read why."""
    contents: dict[str, str] = {}
    unreadable: dict[str, str] = {}
    for name in CONFIGS:
        if name not in names:
            continue
        try:
            data = regular_file.read(os.path.join(folder, name), LIMIT)
        except regular_file.Unfit as why:
            unreadable[name] = str(why)
        else:
            contents[name] = base64.b64encode(data).decode("ascii")
    return contents, unreadable


def _index(folder: str, names: list[str]) -> dict[str, Any] | None:
    """The index's `total_size` (bytes, None where it names none) and which shards are there."""
    if INDEX not in names:
        return None
    index = regular_file.read_json(os.path.join(folder, INDEX), TEXT_LIMIT)
    try:
        shards = sorted({name for name in index["weight_map"].values() if inside(name)})
        total = (index.get("metadata") or {}).get("total_size")
    except (KeyError, TypeError, AttributeError):
        return {"total_size": None, "shards": [], "present": [], "missing": [], "broken": True}
    present = [name for name in shards if os.path.isfile(os.path.join(folder, name))]
    missing = [name for name in shards if name not in present]
    return {
        "total_size": _size(total),
        "shards": shards,
        "present": present,
        "missing": missing,
        "broken": False,
    }


def _weights(folder: str, names: list[str], index: dict[str, Any] | None) -> int | None:
    """Bytes of the tensors' data, once every file of them is there; an index has been seen to name others."""
    shards = [SINGLE] if index is None and SINGLE in names else []
    if index is not None and not index["missing"]:
        shards = index["shards"]
    sizes = [_data(os.path.join(folder, name)) for name in shards]
    known = [size for size in sizes if size is not None]
    return sum(known) if known and len(known) == len(sizes) else None


def _data(path: str) -> int | None:
    """The file without its header; None for what is no safetensors file, such as a pointer in its place."""
    try:
        with regular_file.opened(path) as file:
            size = os.fstat(file.fileno()).st_size - 8 - int.from_bytes(file.read(8), "little")
    except (OSError, regular_file.Unfit):
        return None
    return size if size > 0 else None


def _size(value: Any) -> int | None:
    """Bytes, where the number can be that: JSON knows 1e999, and Python reads Infinity and NaN too."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int(value) if number and 0 < value < _LARGEST else None


def _nearest(folder: str) -> str:
    while not os.path.exists(folder):
        folder = os.path.dirname(folder)
    return folder


def _disk(folder: str) -> dict[str, int]:
    figures = os.statvfs(_nearest(folder))
    return {
        "free_bytes": figures.f_bavail * figures.f_frsize,
        "total_bytes": figures.f_blocks * figures.f_frsize,
    }


def _manifest(instance: str | None, folder: str) -> dict[str, Any] | None:
    if instance is None:
        return None
    manifest = last_download.read(state.known_folder(instance) / "download", folder)
    return manifest if manifest and manifest.get("machine") == state.machine_id() else None
