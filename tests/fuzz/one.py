"""How does one target stand some seconds of inputs? What it fails at is kept as a file, and it goes on.

    python -m tests.fuzz.one TARGET SECONDS FOLDER

prints one line of JSON: {"target", "inputs", "failures": [{"file", "said"}], "guided"}. Inputs are guided by the code that
they reach where atheris is installed, else they are pieces of the seeds and words put together at random.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

HANGS_SECONDS = 20.0
"""Of the process's own time: others on the machine do not make an input slow."""
LONGEST = 16 << 10
MEMORY = 4 << 30


class Hangs(Exception):
    """An input took too long."""


class Trial:
    """The inputs of one target so far."""

    def __init__(self, name: str, folder: Path) -> None:
        from tests.fuzz.targets import TARGETS

        self.target = TARGETS[name]
        self._name, self._folder = name, folder
        self.inputs = 0
        self.failures: dict[str, dict[str, str]] = {}
        signal.signal(signal.SIGVTALRM, _hangs)

    def check(self, data: bytes) -> None:
        self.inputs += 1
        signal.setitimer(signal.ITIMER_VIRTUAL, HANGS_SECONDS)
        try:
            self.target.check(data)
        except Exception as error:
            self._failed(data, error)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def _failed(self, data: bytes, error: Exception) -> None:
        """Keep the first and then the shortest input of each place that fails."""
        last = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error}"[:300]
        place = (
            f"{type(error).__name__} {last.filename}:{last.lineno}"
            if not isinstance(error, Hangs)
            else "hangs"
        )
        file = self._folder / f"{self._name}-{hashlib.sha256(place.encode()).hexdigest()[:12]}"
        if place not in self.failures or len(data) < file.stat().st_size:
            file.write_bytes(data)
            file.with_suffix(".txt").write_text("".join(traceback.format_exception(error))[-6000:])
            self.failures[place] = {"file": str(file), "said": f"{place}: {said}"}

    def report(self, *, guided: bool) -> None:
        failures = list(self.failures.values())
        print(
            json.dumps({"target": self._name, "inputs": self.inputs, "failures": failures, "guided": guided}),
            flush=True,
        )


def _hangs(number: int, frame: FrameType | None) -> None:
    raise Hangs(f"more than {HANGS_SECONDS:g} s")


def main(name: str, seconds: float, folder: Path) -> None:
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        import atheris
    except ImportError:
        trial = Trial(name, folder)
        end = time.monotonic() + seconds
        for data in _mixed(trial):
            trial.check(data)
            if time.monotonic() > end:
                break
        trial.report(guided=False)
        return
    with atheris.instrument_imports(include=["orchestrator"], enable_loader_override=False):
        trial = Trial(name, folder)
    words = folder / f"{name}.words"
    quoted = ["".join(f"\\x{byte:02x}" for byte in word) for word in trial.target.words]
    words.write_text("".join(f'"{word}"\n' for word in quoted))
    corpus = folder / f"{name}.corpus"
    corpus.mkdir(exist_ok=True)
    for number, seed in enumerate(_seeds(trial)):
        (corpus / f"seed-{number}").write_bytes(seed)
    end = time.monotonic() + seconds

    def check(data: bytes) -> None:
        trial.check(data)
        if time.monotonic() > end:
            trial.report(guided=True)
            os._exit(0)

    options = [
        f"-dict={words}",
        f"-max_len={LONGEST}",
        "-timeout=3600",
        "-rss_limit_mb=0",
        "-verbosity=0",
        "-len_control=20",
        f"-artifact_prefix={folder}/",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], check)
    atheris.Fuzz()


def _seeds(trial: Trial) -> Iterator[bytes]:
    for path in trial.target.seeds():
        yield path.read_bytes()[:LONGEST]


def _mixed(trial: Trial) -> Iterator[bytes]:
    seeds = [b"", *_seeds(trial)]
    chance = random.Random(time.time_ns())
    yield from seeds
    while True:
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randint(1, 8)):
            start = chance.randint(0, len(data))
            end = min(len(data), start + chance.choice((0, 1, 8, 200)))
            other = chance.choice(seeds)
            at = chance.randint(0, len(other))
            data[start:end] = chance.choice(
                (
                    b"",
                    chance.randbytes(chance.randint(1, 4)),
                    chance.choice(trial.target.words),
                    other[at : at + 200],
                )
            )
        yield bytes(data[:LONGEST])


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3]))
