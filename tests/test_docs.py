"""The documentation says what the code does."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest
from ruamel.yaml import YAML

from orchestrator.data_folders import shipped

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_up_to_date() -> None:
    for path, content in generator().pages().items():
        assert path.read_text() == content, f"{path.name}: run python docs/generate.py"


@pytest.mark.parametrize("kind", ["playbook", "patch"])
def test_what_is_shipped_fits_the_schema_for_editors(kind: str) -> None:
    schema = json.loads((ROOT / "docs" / "reference" / f"{kind}.schema.json").read_text())
    folder = shipped("playbooks" if kind == "playbook" else "patches")
    for path in sorted(folder.glob("*.yaml")):
        value = json.loads(json.dumps(YAML(typ="safe").load(path), default=str))
        jsonschema.validate(value, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**value, "unknown": 1}, schema)


@pytest.mark.parametrize(
    "page", [*sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")), "README.md"]
)
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    for target in LINK.findall(path.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (path.parent / target).exists(), target
