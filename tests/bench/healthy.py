"""How much longer does `deploy` take to a healthy engine than a plain nohup start of the same command?

    python tests/bench/healthy.py [--rounds N] [--engine PYTHON]

Prints one line a figure: its name, the figure, the bar. Both start with the checkpoint in place and end with one
completion; `deploy` is the whole process, the plain start is asked for /health twenty times a second. The rounds
alternate, so that both meet the same load.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from ground import Site, line, load, shown, site

BAR = 2.0
POLL_SECONDS = 0.05


def plain(here: Site, command: dict[str, Any]) -> float:
    """Seconds of a start by hand."""
    argv = command["argv"]
    options = dict(itertools.pairwise(argv))
    place = f"http://127.0.0.1:{options['--port']}"
    environment = {**os.environ, "HOME": str(here.server.home), **command["environment"]}
    began = time.monotonic()
    with (
        (here.folder / "plain.log").open("wb") as log,
        subprocess.Popen(
            ["nohup", *argv], env=environment, stdout=log, stderr=log, start_new_session=True
        ) as engine,
    ):
        try:
            while not answers(f"{place}/health"):
                if engine.poll() is not None:
                    raise SystemExit("the plain start failed")
                time.sleep(POLL_SECONDS)
            body = json.dumps({"model": "tiny", "prompt": "2+2=", "max_tokens": 8}).encode()
            request = urllib.request.Request(
                f"{place}/v1/completions", body, {"Content-Type": "application/json"}
            )
            urllib.request.urlopen(request, timeout=120).close()
            return time.monotonic() - began
        finally:
            os.killpg(engine.pid, signal.SIGTERM)
            engine.wait()
            sweep(here)


def sweep(here: Site) -> None:
    """Remove the shared memory that a stand-in engine leaves behind; it begins with its host's home folder."""
    for path in Path("/dev/shm").iterdir():
        with contextlib.suppress(OSError), path.open("rb") as file:
            if file.read(len(str(here.server.home))) == str(here.server.home).encode():
                path.unlink()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine", help="python of an environment with a real vLLM")
    given = parser.parse_args()
    by_deploy, by_hand = [], []
    with site(given.engine) as here:
        here.run()
        for _ in range(given.rounds):
            here.run("stop")
            by_deploy.append(here.run())
            here.run("stop")
            last = max((here.state / "launches").glob("*"), key=lambda path: int(path.name))
            by_hand.append(plain(here, json.loads((last / "command.json").read_text())))
    kind = "a real engine" if given.engine else "the stand-in engine"
    load()
    line(f"nohup to a completion, {kind}", shown(by_hand), "none")
    line(f"deploy to a completion, {kind}", shown(by_deploy), "none")
    more = sorted(by_deploy)[given.rounds // 2] - sorted(by_hand)[given.rounds // 2]
    line("deploy takes longer by", f"{more:.2f} s", f"{BAR:g} s")


if __name__ == "__main__":
    main()
