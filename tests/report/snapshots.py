"""Text that was looked at by a person and is not to change unseen.

After a change that is wanted: DEPLOY_TEST_SNAPSHOTS=write python -m pytest tests/report, then read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "snapshots"


def check(name: str, text: str) -> None:
    path = FOLDER / f"{name}.txt"
    if os.environ.get("DEPLOY_TEST_SNAPSHOTS") == "write":
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text(), f"{path} shows what was expected"
