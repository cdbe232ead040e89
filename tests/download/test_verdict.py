"""What a checkpoint is held against."""

from __future__ import annotations

from orchestrator.download.verdict import known_files
from orchestrator.programs.discard import KnownFile
from orchestrator.programs.download import Manifest

MANIFEST = Manifest.model_validate(
    {
        "repository": "org/model",
        "revision": "main",
        "commit": "c" * 40,
        "folder": "/models/kimi",
        "complete": True,
        "files": {
            "config.json": {"size": 9, "sha256": None, "blob": "b"},
            "a.safetensors": {"size": 5, "sha256": "s", "blob": "b"},
        },
    }
)


def test_without_a_manifest_no_file_is_known() -> None:
    assert known_files(None, ()) == {}


def test_a_patched_config_is_not_held_against_its_upstream_size() -> None:
    assert known_files(MANIFEST, {"config.json"}) == {"a.safetensors": KnownFile(size=5, sha256="s")}
    assert known_files(MANIFEST, ())["config.json"] == KnownFile(size=None, sha256=None)
