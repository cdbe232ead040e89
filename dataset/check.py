#!/usr/bin/env python3
"""Is every case what the README says of one? Prints what is wrong; needs `jsonschema`.

A label fits the schema, what it asks for stands in its log, and neither names anybody's host, address, home or token.
"""

from __future__ import annotations

import ipaddress
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema

from dataset import score
from dataset.score import HOME, Case, cases

LARGEST, LARGEST_OF_ALL = 200_000, 6_000_000
"""Bytes of a log, and of the whole data set."""
_TOKEN = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{30,}|gh[opsru]_\w{20,}|github_pat_|glpat-|sk-\w{20,}|AKIA[0-9A-Z]{12,}|xox[abp]-|eyJ[\w-]{20,}\.)"
)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+\.(?:com|org|net|edu|gov|io|ai|dev|cn|de|fr|uk|jp)\b")
_ADDRESS = re.compile(r"(?<![\w.=-])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])")
_PERSONS_HOME = re.compile(r"/(?:home|Users)/([\w.-]+)")
_PROMPT = re.compile(r"(?:^|[\s\[(])([\w.-]+)@[\w-]+:[~/]", re.MULTILINE)
_ANYBODY = {
    "app", "appuser", "container_app_user", "default", "dev", "dynamo", "ec2-user", "infer", "inference", "jupyter", "llm",
    "nonroot", "ray", "root", "runner", "sglang", "svc-llm", "ubuntu", "user", "vllm",
}  # fmt: skip
"""Names of homes and in prompts that are nobody's."""


def wrong(case: Case, judge: jsonschema.Draft202012Validator) -> Iterator[str]:
    errors = list(judge.iter_errors(case.label))
    yield from (f"{'/'.join(map(str, each.absolute_path)) or 'label'}: {each.message}" for each in errors)
    if errors:
        return
    if case.label["id"] != case.id:
        yield "the label has another id than the folder"
    text = score.ANSI.sub("", case.log.read_bytes().decode("utf-8", "replace"))
    if len(text) > LARGEST:
        yield f"a log of {len(text)} characters"
    yield from (f"on no line of the log: {part!r}" for part in _missing(case.label, text))
    yield from _contradictions(case.label)
    yield from (f"names {what}" for what in _private(text + json.dumps(case.label)))


def _missing(label: score.Label, text: str) -> list[str]:
    lines = [score.squashed(line) for line in re.split(r"[\r\n]+", text)]
    parts = map(score.squashed, label["root_cause_contains"])
    return [part for part in parts if not any(part in line for line in lines)]


def _contradictions(label: score.Label) -> Iterator[str]:
    """What no answer could be right by."""
    cause = score.squashed(" ".join(label["root_cause_contains"]))
    yield from (
        f"wanted and not: {part!r}" for part in label["root_cause_not"] if score.squashed(part) in cause
    )
    remedy = label["remedy"]
    for action in (action for way in remedy["any_of"] for action in way):
        if any(score.does(each, action) for each in remedy["forbidden"]):
            yield f"wanted and forbidden: {action}"


def _private(text: str) -> Iterator[str]:
    yield from (f"a token: {token[:6]}..." for token in _TOKEN.findall(text))
    yield from (
        f"an address: {mail}"
        for mail in _MAIL.findall(text)
        if not mail.endswith(("example.com", "example.org"))
    )
    yield from (f"somebody's home: {name}" for name in _PERSONS_HOME.findall(text) if name not in _ANYBODY)
    yield from (f"somebody's prompt: {name}" for name in _PROMPT.findall(text) if name not in _ANYBODY)
    for quad in _ADDRESS.findall(text):
        try:
            address = ipaddress.ip_address(quad)
        except ValueError:  # a version
            continue
        if address.is_global:
            yield f"a host: {quad}"


def mistakes(folder: Path = HOME / "cases") -> list[str]:
    judge = jsonschema.Draft202012Validator(json.loads((HOME / "label.schema.json").read_text("utf-8")))
    every = cases(folder)
    found = [f"{case.id}: {mistake}" for case in every for mistake in wrong(case, judge)]
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return [*found, *([f"{size} bytes in all"] if size > LARGEST_OF_ALL else [])]


if __name__ == "__main__":
    sys.exit("\n".join(mistakes()) or 0)
