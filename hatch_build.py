"""How does a program that was just installed come to know its patches without reading them? They are read when it is built."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledPatches(BuildHookInterface[Any]):
    """Reading them takes seconds, which would be those of the first command in every new home."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sys.path.insert(0, self.root)
        from orchestrator.patches import catalogue, kept

        if version == "editable":  # kept beside the code; a patch that is edited later is read anew
            catalogue.survey([Path(self.root, "patches")])
            return
        name, content = kept.compiled(Path(self.root, "patches"))
        self._folder = tempfile.TemporaryDirectory()
        file = Path(self._folder.name, name)
        file.write_bytes(content)
        build_data["force_include"][str(file)] = f"orchestrator/data/compiled/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._folder.cleanup()
