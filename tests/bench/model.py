"""How long does it take to plan a model of a local Hub that has no playbook, and to be told that there is none?

    python tests/bench/model.py [--rounds N]

Prints one line a figure: its name, the figure, the bar. Whole processes, over ssh on loopback, nothing of the checkpoint there.
"""

from __future__ import annotations

import argparse
import subprocess
import time

from ground import REPOSITORY, Site, line, load, shown, site

BAR, WRONG_BAR = 2.0, 1.0


def seconds(here: Site, model: str, expected: int) -> float:
    """Of one `deploy plan`, which leaves with `expected`."""
    words = [word if word != str(here.playbook) else model for word in here.argv("plan")]
    environment = {**here.environment, "HF_ENDPOINT": here.hub.endpoint}
    began = time.monotonic()
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    took = time.monotonic() - began
    if done.returncode != expected:
        raise SystemExit(f"deploy plan {model} left with {done.returncode}:\n{done.stderr[-3000:]}")
    return took


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with site() as here:
        here.run("plan")  # the catalogue is read once
        load()
        line("plan of a model", shown([seconds(here, REPOSITORY, 0) for _ in range(rounds)]), f"{BAR:g} s")
        wrong = [seconds(here, "deploy-tests/nothing", 2) for _ in range(rounds)]
        line("a wrong id, told", shown(wrong), f"{WRONG_BAR:g} s")
        line("plan of a playbook", shown([here.run("plan") for _ in range(rounds)]), "none")


if __name__ == "__main__":
    main()
