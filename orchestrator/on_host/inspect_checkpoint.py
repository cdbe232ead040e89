"""What does the planner need to know about a checkpoint's folder, in one round trip?"""

from __future__ import annotations

import base64
import json
import os
from typing import Any

from orchestrator.on_host import code_files, state
from orchestrator.on_host.shards import inside
from orchestrator.on_host.verify import INDEX

CONFIGS = ("config.json", "hf_quant_config.json", "generation_config.json")
LIMIT = 16 << 20
"""Bytes of a config file above which it is named as too large instead of sent."""


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Describe `folder`; with `playbook`, its manifest too where it was written for this folder."""
    folder = os.path.realpath(os.path.expanduser(request["folder"]))
    there = os.path.isdir(folder)
    names = sorted(os.listdir(folder)) if there and os.access(folder, os.R_OK | os.X_OK) else []
    owner = os.stat(folder).st_uid if there else None
    configs, too_large, unreadable = _configs(folder, names)
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
        "too_large": too_large,
        "unreadable": unreadable,
        "index": _index(folder, names),
        "code": code_files.describe(folder) if there else None,
        "disk": _disk(folder),
        "manifest": _manifest(request.get("playbook"), folder),
    }


def _configs(folder: str, names: list[str]) -> tuple[dict[str, str], list[str], dict[str, str]]:
    found: dict[str, str] = {}
    too_large: list[str] = []
    unreadable: dict[str, str] = {}
    for name in CONFIGS:
        if name not in names:
            continue
        try:
            with open(os.path.join(folder, name), "rb") as file:
                data = file.read(LIMIT + 1)
        except OSError as error:
            unreadable[name] = error.strerror or str(error)
            continue
        if len(data) > LIMIT:
            too_large.append(name)
        else:
            found[name] = base64.b64encode(data).decode("ascii")
    return found, too_large, unreadable


def _index(folder: str, names: list[str]) -> dict[str, Any] | None:
    """The index's `total_size` (bytes, None where it names none) and which shards are there."""
    if INDEX not in names:
        return None
    try:
        with open(os.path.join(folder, INDEX), "rb") as file:
            index = json.load(file)
        shards = sorted({name for name in index["weight_map"].values() if inside(name)})
        total = (index.get("metadata") or {}).get("total_size")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {"total_size": None, "shards": [], "present": [], "missing": [], "broken": True}
    present = [name for name in shards if os.path.isfile(os.path.join(folder, name))]
    missing = [name for name in shards if name not in present]
    size = int(total) if isinstance(total, (int, float)) else None
    return {"total_size": size, "shards": shards, "present": present, "missing": missing, "broken": False}


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


def _manifest(playbook: str | None, folder: str) -> Any:
    if playbook is None:
        return None
    manifest = state.read_json(state.state_folder(playbook) / "download" / "manifest.json")
    here = isinstance(manifest, dict) and manifest.get("folder") == folder
    return manifest if here and manifest.get("machine") == state.machine_id() else None
