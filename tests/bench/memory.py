"""How much memory does the controller take for a whole deployment: download, failure, repair, healthy launch?

    python tests/bench/memory.py

Prints one line a figure: its name, the figure in MB, the bar.
"""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path

from ground import line, load, site

BAR = 120
POLL_SECONDS = 0.01


def peak_mb(pid: int) -> float:
    """The largest resident size so far; ru_maxrss would count what its parent had before it."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) * 1024 / 1e6 if found else 0.0


def main() -> None:
    with site() as here, here.start("--no-predict", "--json") as process:
        largest = 0.0
        lines: list[str] = []
        reader = threading.Thread(target=lambda: lines.extend(process.stdout or ()))
        reader.start()
        while process.poll() is None:
            largest = max(largest, peak_mb(process.pid))
            time.sleep(POLL_SECONDS)
        reader.join()
        if process.returncode != 0 or not any('"finding"' in one for one in lines):
            raise SystemExit(f"deploy left with {process.returncode}")
    load()
    line("controller's memory during a whole deployment", f"{largest:.0f} MB", f"{BAR} MB")


if __name__ == "__main__":
    main()
