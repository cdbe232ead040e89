"""Labelled launch logs: `cases/CATEGORY/PATCH/NAME.log`, and in the `cases.yaml` beside it what is true of each.

A folder holds the failures of its patch and what looks like them; `no-patch` holds what no patch may recognise. A label:
`from` (real: a run of our own; reconstructed: composed of the software's own messages), `source`, `why`, `engine` (vllm
where it says none), `context` (what the caller knows), `verdict`, `patch` (which must recognise it; the folder's for a fault or a hang that names no other, else
none may), `category` and those that are accepted besides (`category_also`; that of the patch where none is named), `cause`
and `cause_not` (texts that the root cause has and has not), and `remedy`: `any_of` ways, one of which must be proposed in
full (more actions are fine; where nothing may be done without asking, advice that names the thing will do), `automatic`
(absent: either), `forbidden` actions. A wrapper's words are never a cause, unless the label itself asks for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from orchestrator.diagnosis.verdict import Diagnosis
from orchestrator.engines import registry
from orchestrator.engines.log_grammar import LogGrammar
from orchestrator.patches.known import Known
from tests import yaml_data

FOLDER = Path(__file__).parent / "cases"
UNRECOGNISED = "no-patch"
WRAPPERS = (
    "Engine core initialization failed", "Engine process failed to start", "EngineCore failed to start",
    "EngineCore encountered an issue", "WorkerProc failed to start", "WorkerProc initialization failed",
    "Worker failed with error", "AsyncLLM output_handler failed", "died unexpectedly", "Frontend process failed",
    "Worker failed with KV connector output", "One or more workers failed", "Input socket thread died",
    "Received sigquit from a child process", "SIGQUIT received.", "scheduler is dead", "Initialization failed. Please see",
)  # fmt: skip
"""Sentences that only say that another process failed."""
FILES = sorted(FOLDER.glob("*/*/cases.yaml"))
_CATEGORIES = {file.parent.name: file.parent.parent.name for file in FILES}
"""Of every patch."""


class Case(NamedTuple):
    """A labelled log. Its name may occur in another folder too, `id` occurs once."""

    folder: Path
    name: str

    @property
    def id(self) -> str:
        return f"{self.folder.name}/{self.name}"

    @property
    def path(self) -> Path:
        return self.folder / f"{self.name}.log"


def _labels(file: Path) -> dict[Case, dict[str, Any]]:
    labels: dict[str, dict[str, Any]] = yaml_data.load(file)
    return {Case(file.parent, name): _complete(file.parent, label) for name, label in labels.items()}


def _complete(folder: Path, label: Mapping[str, Any]) -> dict[str, Any]:
    recognised = label["verdict"] in ("fault", "hang")
    patch = label.get("patch", folder.name) if recognised else None
    return {
        "engine": registry.USUAL,
        "context": {},
        "remedy": {},
        "category": _CATEGORIES.get(patch or ""),
        **label,
        "patch": patch,
    }


_LABELS = {case: label for file in FILES for case, label in _labels(file).items()}
CASES = sorted(_LABELS)


def named(name: str) -> Case:
    """The only case of this name."""
    (case,) = (case for case in CASES if case.name == name)
    return case


def expected(case: Case) -> dict[str, Any]:
    return _LABELS[case]


def log(case: Case) -> bytes:
    return case.path.read_bytes()


def grammar_of(case: Case) -> LogGrammar:
    """Of the engine that wrote it."""
    return registry.read(expected(case)["engine"]).log


def known_of(label: Mapping[str, Any]) -> Known:
    given = {**label["context"]}
    return Known(version=given.pop("vllm_version", None), **given)


def wrong(label: Mapping[str, Any], found: Diagnosis) -> list[str]:
    """What the diagnosis says otherwise than the label, in words."""
    mistakes = []
    patch = found.finding.patch if found.finding else None
    if patch != label["patch"]:
        mistakes.append(f"recognised as {patch}, not as {label['patch']}")
    if found.verdict != label["verdict"]:
        mistakes.append(f"verdict {found.verdict}, not {label['verdict']}")
    if label["verdict"] in ("fault", "unknown_fault", "hang"):
        mistakes += _wrong_cause(label, found)
    if label["patch"] is not None and found.finding is not None:
        accepted = (label["category"], *(label.get("category_also") or ()))
        if found.finding.category not in accepted:
            mistakes.append(f"category {found.finding.category}, not {' or '.join(accepted)}")
    return mistakes + _wrong_remedy(label["remedy"], found)


def _wrong_cause(label: Mapping[str, Any], found: Diagnosis) -> list[str]:
    text = _squashed(found.root_cause.text if found.root_cause else "")
    wanted = label.get("cause", ())
    wrappers = [words for words in WRAPPERS if not any(words in _squashed(part) for part in wanted)]
    missing = [part for part in wanted if _squashed(part) not in text]
    worse = [part for part in (*label.get("cause_not", ()), *wrappers) if _squashed(part) in text]
    return [f"the cause lacks {part!r}" for part in missing] + [f"the cause has {part!r}" for part in worse]


def _wrong_remedy(wanted: Mapping[str, Any], found: Diagnosis) -> list[str]:
    remedy = found.model_dump(mode="json")["remedy"] or {"automatic": False, "actions": [], "advice": []}
    mistakes = [
        f"proposes what is forbidden: {each}"
        for each in wanted.get("forbidden") or ()
        if any(_does(each, action) for action in remedy["actions"])
    ]
    if (
        wanted.get("automatic") is not None
        and wanted.get("any_of")
        and remedy["automatic"] != wanted["automatic"]
    ):
        mistakes.append(f"automatic: {remedy['automatic']}")
    if wanted.get("automatic") is False and remedy["automatic"]:
        mistakes.append("acts without asking")
    ways = wanted.get("any_of")
    advised = wanted.get("automatic") is not True
    if ways and not any(all(_offered(each, remedy, advised=advised) for each in way) for way in ways):
        mistakes.append(f"none of {ways} is proposed, but {remedy['actions']}")
    return mistakes


def _offered(wanted: Mapping[str, Any], remedy: Mapping[str, Any], *, advised: bool) -> bool:
    if any(_does(wanted, action) for action in remedy["actions"]):
        return True
    name = str(wanted.get("name") or wanted["kind"]).lower()
    advice = " ".join(remedy["advice"]).lower()
    told = name in advice or name.strip("-").replace("_", "-") in advice.replace("_", "-")
    return told and (advised or wanted["kind"] in ("install", "advice"))


def _does(wanted: Mapping[str, Any], action: Mapping[str, Any]) -> bool:
    """Whether an action is the wanted one; what the label leaves out may be anything."""
    if wanted["kind"] != action["kind"]:
        return False
    name = (
        str(action.get("path", "")).rpartition("/")[2]
        if action["kind"] == "config"
        else action.get("name", "")
    )
    nulled = action["kind"] == "config" and action.get("op") == "set" and action.get("value") is None
    ops = {action.get("op"), "remove"} if nulled else {action.get("op")}
    named = wanted.get("name") is None or _flag(wanted["name"]) == _flag(name)
    if action["kind"] == "install" and wanted.get("name"):
        named = str(wanted["name"]) in str(name)
    return (
        named
        and wanted.get("op", action.get("op")) in ops
        and ("value" not in wanted or _fits(wanted["value"], action.get("value")))
    )


def _flag(name: str) -> str:
    return name.strip("-").replace("_", "-")


def _fits(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, dict):
        return wanted.get("ge", float("-inf")) <= float(value) <= wanted.get("le", float("inf"))
    if isinstance(wanted, list):
        return any(_fits(each, value) for each in wanted)
    return str(wanted).lower() == str(value).lower()


def _squashed(text: str) -> str:
    return " ".join(text.split())
