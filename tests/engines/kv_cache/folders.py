"""Which config folders is vLLM asked about, and ours after it?

    python -m tests.engines.kv_cache.folders DIR      # writes them, each as a folder of its own, for oracle.py

Published config.json as their authors wrote them, the cases of edits, and the forms of `folders.yaml`, each in one of the layouts that
published files have.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

from orchestrator.on_host.checkpoint.configs import CONFIG
from tests import yaml_data

HERE = Path(__file__).parent
PUBLISHED = HERE.parent / "sizing" / "configs"
CASES = HERE.parents[1] / "checkpoint" / "cases"
SIDECAR = "hf_quant_config.json"


def variants() -> dict[str, dict[str, bytes]]:
    """The forms of folders.yaml by name, as the bytes of their files."""
    declared = yaml_data.load(HERE / "folders.yaml")
    layouts = cycle((_indented, _four, _with_crlf, _one_line))
    found = {}
    for (name, form), layout in zip(declared["folders"].items(), layouts, strict=False):
        config = {**declared["bases"][form["base"]], **form.get("top", {})}
        if "nested" in form:
            config["text_config"] = {**config["text_config"], **form["nested"]}
        found[name] = {CONFIG: layout(config)}
        if "sidecar" in form:
            found[name][SIDECAR] = layout(form["sidecar"])
    return found


def everything() -> dict[str, dict[str, bytes]]:
    """All folders by name."""
    cases = {
        case.name: {name: (case / name).read_bytes() for name in (CONFIG, SIDECAR) if (case / name).exists()}
        for case in sorted(CASES.iterdir())
    }
    published = {file.stem: {CONFIG: file.read_bytes()} for file in sorted(PUBLISHED.glob("*.json"))}
    return {**published, **cases, **variants()}


def write(where: Path, folders: Mapping[str, Mapping[str, bytes]]) -> list[str]:
    """Each as a folder of its own; their paths."""
    for folder, files in folders.items():
        (where / folder).mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (where / folder / file).write_bytes(text)
    return [str(where / folder) for folder in folders]


def _indented(value: Any) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()


def _four(value: Any) -> bytes:
    return json.dumps(value, indent=4, sort_keys=True).encode()


def _with_crlf(value: Any) -> bytes:
    return json.dumps(value, indent="\t").replace("\n", "\r\n").encode()


def _one_line(value: Any) -> bytes:
    return json.dumps(value).encode()


if __name__ == "__main__":
    write(Path(sys.argv[1]), everything())
