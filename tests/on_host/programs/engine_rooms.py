"""Engines in a home folder, and launches that were started by them, as records alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from orchestrator.on_host.state.state import boot_id, machine_id


def room(home: Path, name: str, *, whole: bool) -> Path:
    folder = home / ".local/share/deploy/engines" / name
    (folder / "environment/bin").mkdir(parents=True)
    (folder / "lock").touch()
    if whole:
        (folder / "environment/bin/python3").symlink_to(sys.executable)
        (folder / "environment/bin/engine-python").symlink_to("python3")
    return folder


def launch(home: Path, deployment: str, number: int, python: Path, **record: Any) -> None:
    folder = home / ".local/state/deploy" / deployment / "launches" / str(number)
    folder.mkdir(parents=True)
    (folder / "command.json").write_text(json.dumps({"argv": [str(python), "-m", "server"]}))
    process = {"machine": machine_id(), "marker": f"{deployment}-{number}", "boot_id": boot_id(), **record}
    (folder / "process.json").write_text(json.dumps(process))
