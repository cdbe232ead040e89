"""Labelled launch logs: adding a folder with log.txt and expected.json adds a case.

expected.json: `context` (what the caller knows), `verdict`, `patch` (the one that must recognise it; without that key none
may), `category` and those that are accepted besides (`category_also`), `root_cause_contains`, `root_cause_not`, and
`remedy`: `any_of` ways, one of which must be proposed in full (more actions are fine; where nothing may be done without
asking, advice that names the thing will do), `automatic` (null: either), `forbidden` actions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.diagnosis.engine import Context
from orchestrator.diagnosis.verdict import Diagnosis

CASES = sorted(path.parent for path in (Path(__file__).parent / "cases").glob("*/expected.json"))


def expected(case: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    return found


def log(case: Path) -> bytes:
    return (case / "log.txt").read_bytes()


def context(label: Mapping[str, Any]) -> Context:
    return Context(**label["context"])


def wrong(label: Mapping[str, Any], found: Diagnosis) -> list[str]:
    """What the diagnosis says otherwise than the label, in words."""
    mistakes = []
    patch = found.finding.patch if found.finding else None
    if patch != label.get("patch"):
        mistakes.append(f"recognised as {patch}, not as {label.get('patch')}")
    if found.verdict != label["verdict"]:
        mistakes.append(f"verdict {found.verdict}, not {label['verdict']}")
    if label["verdict"] in ("fault", "unknown_fault"):
        mistakes += _wrong_cause(label, found)
    if label["verdict"] == "fault" and found.finding is not None:
        accepted = (label["category"], *(label.get("category_also") or ()))
        if found.finding.category not in accepted:
            mistakes.append(f"category {found.finding.category}, not {' or '.join(accepted)}")
    return mistakes + _wrong_remedy(label["remedy"], found)


def _wrong_cause(label: Mapping[str, Any], found: Diagnosis) -> list[str]:
    text = _squashed(found.root_cause.text if found.root_cause else "")
    missing = [part for part in label["root_cause_contains"] if _squashed(part) not in text]
    worse = [part for part in label["root_cause_not"] if _squashed(part) in text]
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
        and wanted["any_of"]
        and remedy["automatic"] != wanted["automatic"]
    ):
        mistakes.append(f"automatic: {remedy['automatic']}")
    if wanted.get("automatic") is False and remedy["automatic"]:
        mistakes.append("acts without asking")
    ways = wanted["any_of"]
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
