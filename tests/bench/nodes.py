"""How much longer does a launch on two hosts take than on the slower of them alone?

    python tests/bench/nodes.py [--rounds N]

Prints one line a figure: its name, the figure, the bar. Launched is by `deploy restart`, from the command's start to its end with
a completion, of the stand-in engine without its pauses: two ranks a host in boxes on this machine, on both and on each alone in turns.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from subprocess import CompletedProcess

from ground import line, load, shown

from orchestrator.rehearsal import Box, Boxes

MORE_BAR = 1.5
SMALL = ("--set", "parallel.tensor=2", "--set", "figures.weights_bytes=147000000000")


def seconds(deploy: Callable[..., CompletedProcess[str]], verb: str) -> float:
    began = time.monotonic()
    done = deploy(verb, *SMALL)
    took = time.monotonic() - began
    if done.returncode != 0:
        raise SystemExit(f"deploy {verb} left with {done.returncode}: {done.stderr}")
    return took


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    load()
    with Boxes(pace="fast") as both, Box(pace="fast") as first, Box(pace="fast") as second:
        every = (both.deploy, first.deploy, second.deploy)
        for deploy in every:
            seconds(deploy, "up")
        rounds = [tuple(seconds(deploy, "restart") for deploy in every) for _ in range(given.rounds)]
    line("restart on the slower of two hosts", shown([max(alone) for _, *alone in rounds]), "")
    line("restart on both as one", shown([together for together, *_ in rounds]), "")
    more = shown([together - max(alone) for together, *alone in rounds])
    line("more on both than on the slower", more, f"{MORE_BAR:g} s")


if __name__ == "__main__":
    main()
