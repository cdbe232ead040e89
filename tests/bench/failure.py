"""How soon is a fatal error found, and how soon is the launch that follows its repair begun?

    python tests/bench/failure.py [--rounds N] [--engine PYTHON]

Prints one line a figure: its name, the figure, the bar. The clock starts when the error line stands in the log on the
host (this machine: the log is looked at every millisecond), and stops when `deploy --json` has printed the finding,
and when the next launch's command is on record. `--engine` is the python of an environment with a real vLLM.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from ground import Site, line, load, shown, site

FOUND_BAR, RELAUNCH_BAR = 0.100, 5.0
FATAL = re.compile(
    rb"ValueError: No valid attention backend found|only supports an unquantized|expected scalar type BFloat16"
)
POLL_SECONDS = 0.001


def when(true: Callable[[], bool], process: subprocess.Popen[str]) -> float:
    while not true():
        if process.poll() is not None:
            raise SystemExit("the command ended before what it is measured for")
        time.sleep(POLL_SECONDS)
    return time.monotonic()


class Log:
    """A log that is read as it grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._rest = b""

    def failed(self) -> bool:
        if not self._path.exists():
            return False
        with self._path.open("rb") as file:
            file.seek(self._at)
            new = file.read()
        self._at += len(new)
        text = self._rest + new
        self._rest = text[-200:]
        return FATAL.search(text) is not None


def one_failure(here: Site) -> tuple[float, float]:
    """Seconds from the error line to the finding, and to the next launch."""
    first = 1 + sum(1 for _ in (here.state / "launches").glob("*"))
    launches = here.state / "launches"
    found: list[float] = []
    with here.start("--no-predict", "--json") as process:

        def listen() -> None:
            for text in process.stdout or ():
                if not found and json.loads(text).get("finding"):
                    found.append(time.monotonic())

        listener = threading.Thread(target=listen)
        listener.start()
        failed = when(Log(launches / str(first) / "vllm.log").failed, process)
        again = when((launches / str(first + 1) / "command.json").exists, process)
        process.wait()
        listener.join()
    if process.returncode != 0:
        raise SystemExit(f"deploy left with {process.returncode}")
    return found[0] - failed, again - failed


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engine", help="python of an environment with a real vLLM")
    given = parser.parse_args()
    seconds = []
    with site(given.engine) as here:
        for number in range(given.rounds):
            if number:
                here.afresh()
            seconds.append(one_failure(here))
    kind = "a real engine" if given.engine else "the stand-in engine"
    load()
    found = sorted(one for one, _ in seconds)
    text = f"{1000 * found[len(found) // 2]:.0f} ms ({1000 * found[0]:.0f} to {1000 * found[-1]:.0f})"
    line(f"error line to finding, {kind}", text, f"{1000 * FOUND_BAR:.0f} ms")
    line(f"error line to relaunch command, {kind}", shown([two for _, two in seconds]), f"{RELAUNCH_BAR:g} s")


if __name__ == "__main__":
    main()
