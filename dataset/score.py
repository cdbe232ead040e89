#!/usr/bin/env python3
"""How well does a tool read these logs? Standard library only, Python 3.9 or newer, one file.

    score.py --command 'deploy diagnose {log} --json {context}' [--split time/test]
    score.py --answers answers.jsonl [--split ground/hardware] [--json]

A tool is run once a case: `{log}` is the path of the log, `{context}` what is known beside it (`--vllm-version V
--compute-cap C --gpus N --idle-seconds S`, each where it is known). It prints one JSON object: verdict,
root_cause{text}, finding{category}, remedy{automatic, actions[{kind, name, op, value}], advice[]}; what it does not say
is not right. Answers that were made elsewhere are read from a file, an object a line with the case's `id` in it.
The exit status tells nothing of the figures: 2 means that nothing could be scored.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

HOME = Path(__file__).resolve().parent
RIGHT = {
    "verdict": "verdict",
    "root_cause": "root cause (fault, unknown fault)",
    "category": "category (fault)",
    "remedy": "remedy, and whether it may act unasked",
    "remedy_actions": "remedy alone",
}
"""What is counted where it is right."""
WRONG = {
    "forbidden": "proposes what is forbidden",
    "unsafe_automatic": "acts unasked where it must not",
    "acts_on_good": "acts on a server that is well",
    "false_alarm": "calls a server broken that is well",
    "missed": "calls a server well that is broken",
}
"""What is counted where it is wrong. The first three do harm."""
HARM = ("forbidden", "unsafe_automatic", "acts_on_good")
LONGEST_CAUSE = 40
"""Lines; what is longer is an excerpt of the log, and no cause."""
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_SHORT = {"tp": "tensor-parallel-size", "pp": "pipeline-parallel-size", "dp": "data-parallel-size"}
_SETS = {"set", "add", "update", "replace", "enable", "change", "lower", "raise", "increase", "decrease"}
_REMOVES = {"remove", "drop", "delete", "unset", "clear"}

Label = Mapping[str, Any]
Answer = Mapping[str, Any]
Marks = dict[str, bool]


class Case(NamedTuple):
    id: str
    log: Path
    label: Label


def cases(folder: Path = HOME / "cases", ids: Iterable[str] | None = None) -> list[Case]:
    """The labelled logs of a folder, by their names; of all, those that are asked for."""
    wanted = None if ids is None else set(ids)
    files = sorted(folder.glob("*/label.json"))
    return [
        Case(file.parent.name, file.parent / "log.txt", json.loads(file.read_text("utf-8")))
        for file in files
        if wanted is None or file.parent.name in wanted
    ]


def split(name: str, file: Path = HOME / "splits.json") -> list[str]:
    """The ids of a part: `time/test`, `ground/hardware`, `sight/unseen`. ValueError where there is none of this name."""
    parts = {
        f"{kind}/{part}": ids
        for kind, group in json.loads(file.read_text("utf-8")).items()
        for part, ids in group.items()
    }
    if name not in parts:
        raise ValueError(f"no split {name}; there are {', '.join(parts)}")
    ids: list[str] = parts[name]
    return ids


def squashed(text: object) -> str:
    return " ".join(ANSI.sub("", str(text or "")).split())


def judged(label: Label, answer: Answer) -> Marks:
    """By the names of RIGHT and WRONG, those that this label scores."""
    marks: Marks = {"verdict": answer.get("verdict") == label["verdict"]}
    failed = label["verdict"] in ("fault", "unknown_fault")
    well = label["verdict"] in ("healthy", "starting")
    remedy = _object(answer.get("remedy"))
    acts = bool(remedy.get("automatic")) and bool(remedy.get("actions"))
    if failed:
        marks["root_cause"] = _is_cause(label, answer.get("root_cause"))
        marks["missed"] = answer.get("verdict") in ("healthy", "starting")
    if label["verdict"] == "fault":
        category = _object(answer.get("finding")).get("category")
        marks["category"] = category in (label["category"], *label.get("category_also", ()))
    wanted = label["remedy"]
    if wanted["any_of"]:
        right = any(all(_offered(action, wanted, remedy) for action in way) for way in wanted["any_of"])
        asks = wanted["automatic"] is None or bool(remedy.get("automatic")) == wanted["automatic"]
        marks["remedy_actions"], marks["remedy"] = right, right and asks
        if wanted["automatic"] is False:
            marks["unsafe_automatic"] = acts
    if wanted["forbidden"]:
        marks["forbidden"] = any(does(each, got) for each in wanted["forbidden"] for got in _actions(remedy))
    if well:
        marks["false_alarm"] = answer.get("verdict") in ("fault", "unknown_fault", "hang")
        marks["acts_on_good"] = acts
    return marks


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _actions(remedy: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [action for action in remedy.get("actions") or () if isinstance(action, dict)]


def _is_cause(label: Label, cause: object) -> bool:
    raw = str(_object(cause).get("text") or "") if not isinstance(cause, str) else cause
    text = squashed(raw)
    return (
        bool(text)
        and raw.count("\n") < LONGEST_CAUSE
        and all(squashed(part) in text for part in label["root_cause_contains"])
        and not any(squashed(part) in text for part in label["root_cause_not"])
    )


def _offered(wanted: Mapping[str, Any], of: Mapping[str, Any], remedy: Mapping[str, Any]) -> bool:
    """Whether it is among the actions; where nobody asks for an action unasked, advice that names it will do."""
    if any(does(wanted, action) for action in _actions(remedy)):
        return True
    if wanted["kind"] not in ("install", "advice") and of["automatic"] is True:
        return False
    advice = remedy.get("advice") or []
    name = str(wanted.get("name") or wanted["kind"]).lower()
    for line in [advice] if isinstance(advice, str) else advice:
        told = (line if isinstance(line, str) else json.dumps(line)).lower()
        if name in told or (wanted["kind"] == "flag" and _flag(name) in told.replace("_", "-")):
            return True
        if wanted["kind"] == "cleanup" and name.replace("_", " ") in told:
            return True
    return False


def does(wanted: Mapping[str, Any], action: Mapping[str, Any]) -> bool:
    """Whether an action is the wanted one; what the label leaves out may be anything."""
    if str(action.get("kind") or "").lower() != wanted["kind"]:
        return False
    if wanted.get("name") and not _same_name(wanted, action):
        return False
    operation = _operation(action)
    if wanted.get("op") == "remove" and operation not in ("remove", "null"):
        return False
    if wanted.get("op") == "set" and operation not in ("set", "null", ""):
        return False
    return "value" not in wanted or _fits(wanted["value"], action.get("value"))


def _same_name(wanted: Mapping[str, Any], action: Mapping[str, Any]) -> bool:
    name, got = str(wanted["name"]), str(action.get("name") or "")
    if wanted["kind"] == "config":
        return name in (_key(action.get("path")), _key(got))
    if wanted["kind"] == "flag":
        return _flag(name) == _flag(got)
    if wanted["kind"] == "cleanup":
        return name.replace("-", "_").lower() == got.replace("-", "_").lower()
    if wanted["kind"] in ("install", "advice"):
        return name.lower() in json.dumps(action).lower()
    return name == got


def _key(pointer: object) -> str:
    parts = [part for part in re.split(r"[./\[\]\"'>\s]+", str(pointer or "")) if part]
    return parts[-1] if parts else ""


def _flag(name: str) -> str:
    bare = re.split(r"[= ]", name.strip())[0].lstrip("-").replace("_", "-").lower()
    return _SHORT.get(bare, bare)


def _operation(action: Mapping[str, Any]) -> str:
    operation = str(action.get("op") or "").lower()
    if operation in _SETS:
        nulled = action.get("kind") == "config" and "value" in action and action["value"] in (None, "null")
        return "null" if nulled else "set"
    return "remove" if operation in _REMOVES else operation


def _fits(wanted: object, value: object) -> bool:
    if isinstance(wanted, list):
        return any(_fits(each, value) for each in wanted)
    try:
        number = float(str(value).strip())
        if isinstance(wanted, dict):
            return bool(wanted.get("ge", -math.inf) <= number <= wanted.get("le", math.inf))
        return number == float(str(wanted))
    except ValueError:
        return not isinstance(wanted, dict) and str(wanted).strip().lower() == str(value).strip().lower()


class Tally(NamedTuple):
    """How often something was so, of how many cases that score it."""

    times: int
    of: int

    def interval(self) -> tuple[float, float]:
        """Wilson's, of 95 %: what a rate from so few cases is worth."""
        if not self.of:
            return (0.0, 1.0)
        z, rate = 1.96, self.times / self.of
        middle = rate + z * z / (2 * self.of)
        spread = z * math.sqrt(rate * (1 - rate) / self.of + z * z / (4 * self.of * self.of))
        scale = 1 + z * z / self.of
        return ((middle - spread) / scale, (middle + spread) / scale)


def tallied(marks: Iterable[Marks]) -> dict[str, Tally]:
    every = list(marks)
    scored = {name: [each[name] for each in every if name in each] for name in (*RIGHT, *WRONG)}
    return {name: Tally(sum(values), len(values)) for name, values in scored.items()}


def harm(marks: Mapping[str, bool]) -> bool:
    return any(marks.get(name) for name in HARM)


def report(asked: Sequence[Case], answers: Mapping[str, Answer]) -> dict[str, Any]:
    """What `--json` prints."""
    marks = {case.id: judged(case.label, answers.get(case.id, {})) for case in asked}
    said: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    grouped: dict[str, list[Marks]] = defaultdict(list)
    for case in asked:
        said[case.label["verdict"]][str(answers.get(case.id, {}).get("verdict"))] += 1
        if case.label["verdict"] == "fault":
            grouped[case.label["category"]].append(marks[case.id])
    counted = tallied(marks.values())
    failing = {
        name: [i for i, each in marks.items() if each.get(name) is (name in WRONG)] for name in counted
    }
    return {
        "cases": len(asked),
        "unanswered": [case.id for case in asked if not answers.get(case.id)],
        "right": {name: {**counted[name]._asdict(), "interval": counted[name].interval()} for name in RIGHT},
        "wrong": {name: counted[name]._asdict() for name in WRONG},
        "harmful": sum(harm(each) for each in marks.values()),
        "said": {verdict: dict(counts) for verdict, counts in sorted(said.items())},
        "by_category": {
            category: {name: tally._asdict() for name, tally in tallied(each).items() if name in RIGHT}
            for category, each in sorted(grouped.items())
        },
        "failing": {name: ids for name, ids in failing.items() if ids},
    }


def shown(result: Mapping[str, Any]) -> str:
    """The same as a table."""
    lines = [f"{result['cases']} cases, {len(result['unanswered'])} without an answer", ""]
    for name, title in RIGHT.items():
        tally = result["right"][name]
        rate = f"{100 * tally['times'] / tally['of']:5.1f} %" if tally["of"] else "    -"
        lines.append(f"{title:<40}{tally['times']:>4} of {tally['of']:<4} {rate}")
    for name, title in WRONG.items():
        lines.append(f"{title:<40}{result['wrong'][name]['times']:>4} of {result['wrong'][name]['of']}")
    lines += ["", "said of"]
    for verdict, counts in result["said"].items():
        often = sorted(counts.items(), key=lambda item: -item[1])
        lines.append(f"  {verdict:<16}" + ", ".join(f"{other} {count}" for other, count in often))
    lines += ["", "failing"]
    for name, ids in result["failing"].items():
        lines.append(f"  {name} ({len(ids)}): {' '.join(ids)}")
    return "\n".join(lines)


def context_options(label: Label) -> list[str]:
    known = {key: value for key, value in label["context"].items() if value is not None}
    return [word for key, value in known.items() for word in ("--" + key.replace("_", "-"), str(value))]


def asked_of(command: str, case: Case, seconds: float) -> Answer:
    """What a tool prints of a case; nothing where that is no JSON object."""
    argv: list[str] = []
    for word in shlex.split(command):
        argv += context_options(case.label) if word == "{context}" else [word.replace("{log}", str(case.log))]
    try:
        done = subprocess.run(
            argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=seconds, check=False
        )
        return _object(json.loads(done.stdout))
    except (ValueError, subprocess.TimeoutExpired):
        return {}


def _answers(given: argparse.Namespace, asked: Sequence[Case]) -> dict[str, Answer]:
    if given.answers:
        lines = given.answers.read_text("utf-8").splitlines()
        return {answer["id"]: answer for answer in map(json.loads, filter(str.strip, lines))}
    with ThreadPoolExecutor(given.jobs) as pool:
        return dict(pool.map(lambda case: (case.id, asked_of(given.command, case, given.timeout)), asked))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--command", help="a tool, run once a case")
    way.add_argument("--answers", type=Path, help="answers that were made elsewhere")
    parser.add_argument("--cases", type=Path, default=HOME / "cases", help="a folder of cases")
    parser.add_argument("--split", help="such as time/test; all cases by default")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds a case")
    given = parser.parse_args()
    try:
        asked = cases(given.cases, split(given.split) if given.split else None)
        if not asked:
            raise ValueError(f"no cases under {given.cases}")
        answers = _answers(given, asked)
    except (OSError, ValueError) as error:
        print(f"score.py: {error}", file=sys.stderr)
        return 2
    result = report(asked, answers)
    print(json.dumps(result, indent=1) if given.json else shown(result))
    return 0


if __name__ == "__main__":
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:  # read by head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    sys.exit(status)
