"""Which modules does a command import?"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence


def imported(words: Sequence[str], *, code: int = 0) -> set[str]:
    """The modules that this command line imports, in a process of its own that leaves with `code`."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "orchestrator.cli.main", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
