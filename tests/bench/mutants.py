"""How many small faults in the pure rooms would their own tests notice?

    python tests/bench/mutants.py [ROOM ...] [--jobs N] [--together N] [--keep FOLDER]

mutmut changes one operator, number, text or call at a time and runs the tests that reach it; a change that all of them pass
has survived. Each file is changed in a copy of the tree and judged by the tests of its room, no others: what only the end of
a long chain notices is not tested. Prints a line a room, and keeps the survivors in FOLDER, with what was changed.
Needs the extra `mutation`; the whole takes some hours of one core.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import dataclasses
import functools
import json
import operator
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
TREE = ("orchestrator", "tests", "patches", "playbooks", "docs", "README.md", "pyproject.toml")
_KILLED = {1, 2, 3, 24, 36, 152, 255, -24, -11, -9}
_UNTESTED = {5, 33}
"""mutmut's exit codes; a change that runs into the time limit, or ends the interpreter, was noticed."""


@dataclasses.dataclass(frozen=True)
class Room:
    """Files below orchestrator/ and the tests that are to notice a fault in them, both as patterns."""

    files: tuple[str, ...]
    tests: tuple[str, ...]
    but: tuple[str, ...] = ()
    """Files that belong to another of these rooms."""
    slow: tuple[str, ...] = ()
    """Tests that are left out, since a change that survives would run them all."""


ROOMS: Mapping[str, Room] = {
    "diagnosis": Room(
        files=("diagnosis/**/*.py", "engines/vllm/log/*.py"),
        but=tuple(f"diagnosis/{name}.py" for name in ("scan", "gate", "live", "hearsay")),
        tests=("diagnosis/test_*.py", "engines/test_log_grammar.py", "engines/test_selector.py"),
        slow=(
            *(f"diagnosis/test_{name}.py" for name in ("hostile", "live", "properties", "scan")),
            "diagnosis/test_engine.py::test_a_piece_of_a_log_never_gets_another_remedy",
            "diagnosis/test_engine.py::test_any_bytes_have_a_verdict",
            "diagnosis/test_hearsay.py::test_a_healthy_server_stays_healthy_whatever_clients_write",
            "diagnosis/test_hearsay.py::test_a_failure_keeps_its_cause_whatever_clients_wrote",
        ),
    ),
    "scan": Room(
        files=tuple(f"diagnosis/{name}.py" for name in ("scan", "gate", "live", "hearsay")),
        tests=tuple(f"diagnosis/test_{name}.py" for name in ("scan", "gate", "live", "hearsay")),
        slow=(
            "diagnosis/test_live.py::test_the_finding_is_given_at_the_first_line_that_shows_it",
            "diagnosis/test_live.py::test_only_a_failed_launch_is_doomed",
            "diagnosis/test_scan.py::test_a_labelled_log_comes_to_the_same",
            "diagnosis/test_scan.py::test_benign_lines_in_front_and_behind_change_line_numbers_alone",
            "diagnosis/test_scan.py::test_mixed_logs_cut_anywhere",
            "diagnosis/test_scan.py::test_lines_in_any_order",
            "diagnosis/test_hearsay.py::test_a_healthy_server_stays_healthy_whatever_clients_write",
            "diagnosis/test_hearsay.py::test_a_failure_keeps_its_cause_whatever_clients_wrote",
        ),
    ),
    "patches": Room(
        files=("patches/*.py",),
        tests=("patches/test_*.py",),
        slow=(
            "patches/test_steps.py::test_texts_made_of_its_own_words_do_not_keep_a_shipped_expression_busy",
        ),
    ),
    "plan": Room(files=("plan/**/*.py",), tests=("plan/**/test_*.py",)),
    "checkpoint": Room(files=("checkpoint/**/*.py",), tests=("checkpoint/**/test_*.py",)),
    "journal": Room(files=("survey/journal.py",), tests=("survey/test_journal.py",)),
    "engines": Room(
        files=("engines/**/*.py",), but=("engines/vllm/log/*.py",), tests=("engines/**/test_*.py",)
    ),
    "launch": Room(
        files=tuple(f"launch/{name}.py" for name in ("vigil", "ended", "failure", "progress")),
        tests=tuple(f"launch/test_{name}.py" for name in ("vigil", "ended", "failure", "progress")),
    ),
}


@dataclasses.dataclass(frozen=True)
class Result:
    """How many changes came to what; `untested` are reached by no test, `left` were not tried."""

    killed: int = 0
    survived: int = 0
    untested: int = 0
    left: int = 0

    def __add__(self, other: Result) -> Result:
        return Result(*map(operator.add, dataclasses.astuple(self), dataclasses.astuple(other)))

    def __str__(self) -> str:
        tried = self.killed + self.survived + self.untested
        share = f"{100 * self.killed / tried:7.1f}%" if tried else "-".rjust(8)
        return f"{self.killed:8}{self.survived:10}{self.untested:10}{self.left:10}{share}"


def files(room: Room) -> list[Path]:
    """Those of a room, relative to the tree's root."""
    here = ROOT / "orchestrator"
    wanted, others = ({path for one in each for path in here.glob(one)} for each in (room.files, room.but))
    return sorted(path.relative_to(ROOT) for path in wanted - others if path.name != "__init__.py")


def settings(room: Room, file: Path) -> str:
    """The section of pyproject.toml that has mutmut work on one file."""
    tests = {path for pattern in room.tests for path in (ROOT / "tests").glob(pattern)}
    values = {
        "source_paths": ["orchestrator"],
        "only_mutate": [str(file)],
        "also_copy": [name for name in TREE if name not in ("orchestrator", "tests", "pyproject.toml")],
        "pytest_add_cli_args": [
            *("-p", "no:cacheprovider", "-p", "tests.bench.mutants_plugin", "--timeout=60"),
            *(f"--deselect=tests/{test}" for test in room.slow),
        ],
        "pytest_add_cli_args_test_selection": sorted(str(path.relative_to(ROOT)) for path in tests),
        "timeout_multiplier": 5.0,
        "track_dependencies": False,
        "use_git_change_detection": False,
    }
    return "\n[tool.mutmut]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())


def run(room: str, file: Path, *, jobs: int, until: float, keep: Path) -> Result:
    """Changes one file in a copy of the tree. `keep` gets what mutmut printed and what survived."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        for part in TREE:
            if (ROOT / part).is_dir():
                unwanted = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / part, Path(folder, part), ignore=unwanted)
            else:
                shutil.copy(ROOT / part, folder)
        with Path(folder, "pyproject.toml").open("a") as pyproject:
            pyproject.write(settings(ROOMS[room], file))
        os.chdir(folder)  # where mutmut looks for all that it reads
        environment = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache"}
        command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(jobs)]
        name = f"{room}-{file.parent.name}-{file.stem}"
        with (keep / f"{name}.log").open("wb") as log:
            mutmut = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, start_new_session=True
            )
            with contextlib.suppress(subprocess.TimeoutExpired):
                mutmut.wait(max(0.0, until - time.monotonic()))
            if mutmut.poll():
                print(f"{file}: mutmut gave up, {keep / name}.log says why", file=sys.stderr)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(mutmut.pid, signal.SIGKILL)
        result, survivors = read()
        os.chdir(ROOT)
    (keep / f"{name}.txt").write_text(survivors)
    return result


def read() -> tuple[Result, str]:
    """What mutmut wrote beside its copies of the files, in the folder at hand, and the changes that no test noticed."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant

    result, survivors = Result(), []
    for meta in sorted(Path("mutants").glob("**/*.meta")):
        source = str(meta.relative_to("mutants").with_suffix(""))
        for name, code in json.loads(meta.read_text())["exit_code_by_key"].items():
            if code is None:
                result += Result(left=1)
            elif code in _KILLED:
                result += Result(killed=1)
            else:
                reached = code not in _UNTESTED
                result += Result(survived=reached, untested=not reached)
                state = "survived" if reached else "no test reaches it"
                survivors.append(f"# {name}: {state}\n{get_diff_for_mutant(name, path=source)}\n")
    return result, "".join(survivors)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("room", nargs="*", choices=[[], *ROOMS])
    asked.add_argument("--only", metavar="NAME", help="one file of the rooms, such as standstill.py")
    jobs = os.cpu_count() or 1
    asked.add_argument("--jobs", type=int, default=jobs, help="changes tried at a time, in a file")
    asked.add_argument("--together", type=int, default=1, help="files at a time")
    asked.add_argument("--seconds", type=float, default=1e9, help="after which no more is tried")
    asked.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "survivors")
    options = asked.parse_args()
    keep = options.keep.resolve()
    keep.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + options.seconds
    work = functools.partial(run, jobs=options.jobs, until=until, keep=keep)
    rooms = options.room or list(ROOMS)
    todo = [
        (room, file) for room in rooms for file in files(ROOMS[room]) if options.only in (None, file.name)
    ]
    todo.sort(key=lambda each: (rooms.index(each[0]), -each[1].stat().st_size))
    with concurrent.futures.ProcessPoolExecutor(options.together) as pool:
        results = list(pool.map(work, *zip(*todo, strict=True)))
    print(f"{'':30}{'killed':>8}{'survived':>10}{'untested':>10}{'left':>10}{'share':>8}")
    for room in rooms:
        own = [(file, result) for (of, file), result in zip(todo, results, strict=True) if of == room]
        print(f"{room:30}{sum((result for _, result in own), Result())}")
        for file, result in own:
            print(f"  {'/'.join(file.parts[-2:]):28}{result}")
    print(f"{'all':30}{sum(results, Result())}\nlogs and survivors: {keep}")


if __name__ == "__main__":
    main()
