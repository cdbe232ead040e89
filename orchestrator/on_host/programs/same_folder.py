"""Do several hosts see one and the same folder, whatever it is called on each of them?

Paths, device numbers and even times say nothing: machines are made from one image. So each host puts an empty file into the
folder under a name that nobody can know, and looks for those of the others; a file system that hosts share shows them, of
whatever kind it is.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from typing import Any

from orchestrator.on_host.files import input_line

_MARK = re.compile(r"\.deploy-[0-9a-f]{32}")


def main(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields {"marked": whether its own mark could be made}, and once a line of its input tells {"marks": [...]} which of them
    {"seen": [...]}; with its input ends the mark.

    request: folder (made where it is missing), mark (the name of its own), seconds (after which it ends in any case). A folder
    of another user is not written into.
    """
    give_up = time.monotonic() + request["seconds"]
    folder, mark = os.path.expanduser(request["folder"]), request["mark"]
    if not _MARK.fullmatch(mark):
        raise ValueError(f"{mark!r} is no mark")
    marked = _made(folder, mark)
    try:
        yield {"marked": marked}
        if line := input_line.line(sys.stdin.fileno(), give_up):
            marks = [name for name in json.loads(line)["marks"] if _MARK.fullmatch(name)]
            # by name: a directory's listing may be half a minute old on NFS
            yield {"seen": [name for name in marks if os.path.lexists(os.path.join(folder, name))]}
            input_line.line(sys.stdin.fileno(), give_up)
    finally:
        if marked:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, mark))


def _made(folder: str, mark: str) -> bool:
    """A mark that cannot be made says nothing: who will write there tells why not."""
    try:
        os.makedirs(folder, exist_ok=True)
        if os.stat(folder).st_uid != os.getuid():
            return False
        os.close(
            os.open(os.path.join(folder, mark), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        )
    except OSError:
        return False
    return True
