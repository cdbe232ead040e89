"""How long does a person wait: for `deploy --help`, and for a rehearsal at its default pace and without pauses?

    python tests/bench/face.py [--rounds N]

Prints one line a figure: its name, the figure in seconds, the bar.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

DEPLOY = [sys.executable, "-m", "orchestrator.cli.main"]
ARGPARSE = [sys.executable, "-c", "import argparse"]
HELP_BAR, DEFAULT_BAR, FAST_BAR = 0.150, 30.0, 5.0


def seconds(command: list[str]) -> float:
    with tempfile.TemporaryDirectory() as home:
        began = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "HOME": home})
        return time.monotonic() - began


def median(command: list[str], rounds: int) -> float:
    seconds(command)  # the first one reads from disk
    return statistics.median(seconds(command) for _ in range(rounds))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    bar = max(HELP_BAR, 4 * median(ARGPARSE, rounds))
    print(f"deploy --help, median of {rounds}: {median([*DEPLOY, '--help'], rounds):.3f} s   bar {bar:.3f} s")
    rehearse = [*DEPLOY, "rehearse", "kimi-k2.5"]
    print(
        f"rehearsal, fast profile: {min(seconds([*rehearse, '--fast']) for _ in range(3)):.1f} s   bar {FAST_BAR:g} s"
    )
    print(f"rehearsal, default pace: {seconds(rehearse):.1f} s   bar {DEFAULT_BAR:g} s")


if __name__ == "__main__":
    main()
