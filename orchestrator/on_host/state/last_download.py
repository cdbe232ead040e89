"""What did the last download fetch into a folder?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchestrator.on_host.state import state


def read(room: Path, folder: str) -> dict[str, Any] | None:
    """The manifest that `hub_fetch` left in `room`; None where it is of another folder, or no manifest."""
    manifest = state.read_json(room / "manifest.json")
    if not isinstance(manifest, dict) or manifest.get("folder") != folder:
        return None
    files = manifest.get("files") or {}
    sound = isinstance(files, dict) and all(_is_file(entry) for entry in files.values())
    sound = sound and _are_texts(manifest, "repository", "revision", "commit", "endpoint")
    sound = sound and isinstance(manifest.get("complete", False), bool)
    sound = sound and _is_a_list_of_texts(manifest.get("ignore"))
    sound = sound and isinstance(manifest.get("rate"), (int, type(None)))
    return {**manifest, "files": files} if sound else None


def _are_texts(values: dict[str, Any], *names: str) -> bool:
    return all(isinstance(values.get(name), (str, type(None))) for name in names)


def _is_a_list_of_texts(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(each, str) for each in value))


def _is_file(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("size"), (int, type(None)))
        and _are_texts(entry, "sha256", "blob")
    )
