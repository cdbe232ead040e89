"""Which files of a checkpoint are not what upstream has, so that they have to be fetched again?"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any

from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.state import append, at_work, state_folder

_READ = 8 << 20


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Hash files and take away those whose content is not upstream's.

    request: playbook, folder, files {name: {"size": bytes or null, "sha256": hex or null}}, foreign_folder (the consent
    to write where another user owns the folder). Answers {"discarded": [name], "sound": [name]}; a file whose hash is not
    known is neither, a missing one is in none. In a Hugging Face cache the link goes and so does the damaged blob behind
    it. Raises Refusal("no_checkpoint" or "foreign_folder").
    """
    state = state_folder(request["playbook"])
    folder = Path(os.path.expanduser(request["folder"]))
    if not folder.is_dir():
        raise Refusal("no_checkpoint", f"{folder} is not a folder on this host")
    owner = folder.stat().st_uid
    if owner != os.getuid() and not request.get("foreign_folder"):
        raise Refusal(
            "foreign_folder",
            f"{folder} belongs to uid {owner}, not to us: nothing is taken away without consent",
        )
    discarded, sound = [], []
    with at_work(state):
        for name, known in sorted(request["files"].items()):
            path = folder / name
            if not known.get("sha256") or not path.is_file():
                continue
            if path.stat().st_size == known.get("size") and _sha256(path) == known["sha256"]:
                sound.append(name)
                continue
            blob = Path(os.path.realpath(path))
            path.unlink()
            if blob != path:
                with contextlib.suppress(OSError):
                    blob.unlink()
            discarded.append(name)
        append(state, {"action": "discard", "folder": str(folder), "files": discarded})
    return {"discarded": discarded, "sound": sound}


def _sha256(path: Path) -> str:
    told = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(_READ):
            told.update(chunk)
    return told.hexdigest()
