"""How long does a plan without a host take, in a home where nothing was ever run, and the next time?

    python tests/bench/offline.py [--rounds N] [--python PYTHON]

Prints one line a figure: its name, the figure, the bar. Each is a whole process; processor time is told beside, since that is what
it takes on a machine that does nothing else. `--python` is that of an environment with a wheel installed; without it the
checkout is measured.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from ground import ROOT, line, load

BAR = "0.4 s"
PLAN = ["plan", "kimi-k2.5", "--gpu", "8xRTX PRO 6000", "--vllm", "0.16.0", "--json"]


def seconds(python: str, home: str) -> tuple[float, float]:
    """Of the whole process, and of processors."""
    own = {} if python != sys.executable else {"PYTHONPATH": str(ROOT)}
    environment = {"PATH": os.environ["PATH"], "HOME": home, **own}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        [python, "-m", "orchestrator.cli.main", *PLAN],
        cwd=home, env=environment, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    whole, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return whole, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--python", default=sys.executable)
    given = parser.parse_args()
    first, next_ = [], []
    for number in range(given.rounds + 1):
        with tempfile.TemporaryDirectory() as home:
            once, again = seconds(given.python, home), seconds(given.python, home)
        if number:  # the first round reads from disk
            first.append(once)
            next_.append(again)
    load()
    what = "checkout" if given.python == sys.executable else "wheel"
    for name, taken in (("in a new home", first), ("the next time", next_)):
        whole, busy = (statistics.median(times) for times in zip(*taken, strict=True))
        line(f"offline plan, {what}, {name}", f"{whole:.2f} s, of processors {busy:.2f} s", BAR)


if __name__ == "__main__":
    main()
