"""Which stacks have processes of a launch dumped into its folder?"""

from __future__ import annotations

import fnmatch
import os
import time
from typing import Any

from orchestrator.on_host.files import regular_file
from orchestrator.on_host.kinds import launches
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.state.state import known_folder

_FILES = 64
_BYTES = 256 << 10
"""Of each file that is read, the last: another dump of the same process stands behind the one before."""


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Read the files of launch request["launch"] of request["instance"] whose names fit request["names"] (a shell pattern);
    changes nothing. Answers {files: [{name, age_seconds, text}]}, those that were written last, at most 64."""
    launch = launches.load(known_folder(request["instance"]), request["launch"])
    if launch is None:
        raise Refusal("no_launch", f"there is no launch {request['launch']} on this machine")
    written = []
    for entry in os.scandir(launch.folder):
        if fnmatch.fnmatch(entry.name, request["names"]) and entry.is_file(follow_symlinks=False):
            written.append((entry.stat(follow_symlinks=False).st_mtime, entry.name))
    now = time.time()
    newest = sorted(sorted(written)[-_FILES:], key=lambda each: each[1])
    files = [
        {"name": name, "age_seconds": max(0.0, now - at), "text": _end(os.path.join(launch.folder, name))}
        for at, name in newest
    ]
    return {"files": files}


def _end(path: str) -> str:
    try:
        with regular_file.opened(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _BYTES))
            return file.read(_BYTES).decode("utf-8", "replace")
    except (regular_file.Unfit, OSError):
        return ""
