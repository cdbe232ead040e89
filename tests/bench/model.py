"""How long does it take to plan a model of a local Hub that has no playbook, and to be told that there is none?

    python tests/bench/model.py [--rounds N]

Prints one line a figure: its name, the figure, the bar. Whole processes, over ssh on loopback, nothing of the checkpoint there;
processor time is told beside, since that is what it takes on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import time

from ground import REPOSITORY, Site, line, load, shown, site

BAR, WRONG_BAR = 2.0, 1.0


def seconds(here: Site, model: str, expected: int) -> tuple[float, float]:
    """Of one `deploy plan`, which leaves with `expected`, and of processors."""
    words = [word if word != str(here.playbook) else model for word in here.argv("plan")]
    environment = {**here.environment, "HF_ENDPOINT": here.hub.endpoint}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != expected:
        raise SystemExit(f"deploy plan {model} left with {done.returncode}:\n{done.stderr[-3000:]}")
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def tell(name: str, taken: list[tuple[float, float]], bar: str) -> None:
    whole, busy = zip(*taken, strict=True)
    line(name, f"{shown(whole)}, of processors {statistics.median(busy):.2f} s", bar)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with site() as here:
        here.run("plan")  # the catalogue is read once
        load()
        tell("plan of a model", [seconds(here, REPOSITORY, 0) for _ in range(rounds)], f"{BAR:g} s")
        wrong = [seconds(here, "deploy-tests/nothing", 2) for _ in range(rounds)]
        tell("a wrong id, told", wrong, f"{WRONG_BAR:g} s")
        line("plan of a playbook", shown([here.run("plan") for _ in range(rounds)]), "none")


if __name__ == "__main__":
    main()
