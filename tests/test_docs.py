"""The documentation says what the code does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from orchestrator.base.data_folders import FolderKind, shipped
from tests import yaml_data

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def test_generated_pages_are_up_to_date() -> None:
    """In a process of its own: a command that ran before keeps the help option that it had then."""
    program = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(program, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("kind", "folder"), [("playbook", "playbooks"), ("profile", "profiles"), ("patch", "patches")]
)
def test_what_is_shipped_fits_the_schema_for_editors(kind: str, folder: FolderKind) -> None:
    schema = json.loads((ROOT / "docs" / "reference" / f"{kind}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    judge = jsonschema.Draft202012Validator(schema)
    paths = sorted(shipped(folder).rglob("*.yaml"))
    assert paths
    for path in paths:
        value = json.loads(json.dumps(yaml_data.load(path), default=str))
        assert judge.is_valid(value), path.name
        assert not judge.is_valid({**value, "unknown": 1}), path.name


@pytest.mark.parametrize(
    "page",
    [
        *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")),
        "README.md",
        "dataset/README.md",
    ],
)
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    for target in LINK.findall(path.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (path.parent / target).exists(), target
