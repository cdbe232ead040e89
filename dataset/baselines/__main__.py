"""How well do simple methods read these logs, and how well does `deploy`? Writes the tables of the README.

    python -m dataset.baselines [--deploy 'deploy diagnose {log} --json {context}']

`time`: learned from what was reported before, and from the logs that `deploy` is tested by; measured on time/test.
`ground`: of each ground by what was learned of the three others alone; measured on every case.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dataset import score
from dataset.baselines import catalogue, excerpts, learned, packaged
from dataset.baselines.method import Example, Method, example, text_of
from dataset.score import HOME, Case

README = HOME / "README.md"
BEGIN, END = "<!-- written by python -m dataset.baselines -->", "<!-- end -->"
COLUMNS = {"verdict": "verdict", "root_cause": "root cause", "category": "category", "remedy": "remedy"}
HEAD = ["method", "cases", *COLUMNS.values(), "harmful", "false alarm", "missed"]
METHODS = (*excerpts.METHODS, *packaged.METHODS, *learned.METHODS)
OWN = "`deploy diagnose`"
Answers = dict[str, Mapping[str, Any]]


def read_by(method: Method, examples: Sequence[Example], asked: Sequence[Case]) -> Answers:
    reader = method.learned(examples)
    return {case.id: reader(text_of(case), case.label["context"]) for case in asked}


def by_time(method: Method, every: Mapping[str, Case], other: Sequence[Example]) -> Answers:
    before = [example(every[i]) for i in score.split("time/train")]
    return read_by(method, [*other, *before], [every[i] for i in score.split("time/test")])


def by_ground(method: Method, every: Mapping[str, Case]) -> Answers:
    answers: Answers = {}
    grounds = {case.label["ground"] for case in every.values()}
    for ground in sorted(grounds):
        others = [example(case) for case in every.values() if case.label["ground"] != ground]
        asked = [case for case in every.values() if case.label["ground"] == ground]
        answers |= read_by(method, others, asked)
    return answers


def row(name: str, asked: Sequence[Case], answers: Answers, tells: Sequence[str]) -> list[str]:
    result = score.report(asked, answers)
    right = [_rate(result["right"][column]) if column in tells else "-" for column in COLUMNS]
    wrong = [
        f"{each['times']} of {each['of']}"
        for each in (result["wrong"]["false_alarm"], result["wrong"]["missed"])
    ]
    return [name, str(len(asked)), *right, str(result["harmful"]) if "remedy" in tells else "-", *wrong]


def _rate(tally: Mapping[str, Any]) -> str:
    times, of = tally["times"], tally["of"]
    return f"{100 * times / of:.0f} % ({times} of {of})" if of else "-"


def table(asked: Sequence[Case], answers: Mapping[str, Answers], own: Answers) -> str:
    """`answers`: of every method, by its name; of more cases, maybe, than are asked for."""
    rows = [row(method.name, asked, answers[method.name], method.tells) for method in METHODS]
    rows.append(row(OWN, asked, own, tuple(COLUMNS)))
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (HEAD, ["---"] * len(HEAD), *rows))


def measured(command: str) -> str:
    """The tables, `deploy` being run by the command."""
    every = {case.id: case for case in score.cases()}
    with ThreadPoolExecutor() as pool:
        own = dict(pool.map(lambda case: (case.id, score.asked_of(command, case, 120.0)), every.values()))
    other = list(catalogue.examples())
    timely = {method.name: by_time(method, every, other) for method in METHODS}
    grounded = {method.name: by_ground(method, every) for method in METHODS}
    test, unseen = ([every[i] for i in score.split(name)] for name in ("time/test", "sight/unseen"))
    texts = [
        f"Measured on {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}, `deploy` as of commit {_commit()}.",
        f"By time: on the {len(test)} cases of `time/test`.",
        table(test, timely, own),
        f"By ground: on all {len(every)} cases, each by what was learned of the other grounds.",
        table(list(every.values()), grounded, own),
    ]
    if unseen:
        texts += [
            f"The same, on the {len(unseen)} cases of `sight/unseen` alone.",
            table(unseen, grounded, own),
        ]
    return "\n\n".join(texts)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--deploy", default="deploy diagnose {log} --json {context}", help="how deploy is run"
    )
    text = measured(parser.parse_args().deploy)
    _write(README, text)
    print(text)


def _commit() -> str:
    """The last that changed the tool."""
    argv = ["git", "log", "-1", "--format=%h", "--abbrev=8", "--", "orchestrator", "patches"]
    done = subprocess.run(argv, cwd=HOME.parent, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _write(page: Path, text: str) -> None:
    before, _, rest = page.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
