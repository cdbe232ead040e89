"""How does a wheel come to know its patches without reading them? They are read when it is built."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledPatches(BuildHookInterface[Any]):
    """Reading them takes seconds, which would be those of the first command in every new home."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # whoever edits a patch has it read anew in any case
            return
        sys.path.insert(0, self.root)
        from orchestrator.patches import kept

        name, content = kept.compiled(Path(self.root, "patches"))
        self._folder = tempfile.TemporaryDirectory()
        file = Path(self._folder.name, name)
        file.write_bytes(content)
        build_data["force_include"][str(file)] = f"orchestrator/data/compiled/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._folder.cleanup()
