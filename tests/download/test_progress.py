from __future__ import annotations

import pytest

from orchestrator.base.errors import DeployError
from orchestrator.cli.hints import after
from orchestrator.download.progress import DownloadProgress, Fetched, Source, failure, known_files, read
from orchestrator.programs.discard import KnownFile

SOURCE = Source(
    "kimi",
    "gpu1",
    "org/model",
    "/models/kimi",
    "https://huggingface.co",
    "/venv/bin/python",
)
MANIFEST = {
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


def next_after(error: DeployError) -> str | None:
    """What is typed next after the main job for kimi on gpu1."""
    error.asked = "kimi --host gpu1"
    error.known.setdefault("playbook", "kimi")
    return after(error, "deploy kimi --host gpu1")


def test_a_line_of_progress() -> None:
    line = {"bytes": 5, "total": 10, "files_done": 1, "files": 2, "rate": 3, "eta_seconds": 2, "file": "a"}
    assert read(line, SOURCE) == DownloadProgress(5, 10, 1, 2, 3, 2, "a")
    assert read({}, SOURCE) == DownloadProgress(0, 0, 0, 0, 0, None, None)


def test_the_last_line() -> None:
    line = {"done": True, "commit": "c", "files": 12, "fetched": 3, "bytes": 99}
    assert read(line, SOURCE) == Fetched("c", 12, 3, 99)


@pytest.mark.parametrize(
    ("code", "command"),
    [
        ("hub_gated", "https://huggingface.co/org/model"),
        ("hub_auth", "hf auth login"),
        ("hub_not_found", "deploy show kimi"),
        ("hub_unreachable", "curl -sSI https://huggingface.co"),
        ("disk_full", "df -h /models/kimi"),
        ("permission", "--model-dir"),
        ("checkpoint_folder", "--model-dir"),
        ("foreign_folder", "--consent foreign-folder"),
        ("foreign_files", "--model-dir"),
        ("hub_missing", "/venv/bin/python -m pip install huggingface_hub"),
        ("checkpoint_busy", "deploy status kimi --host gpu1"),
        ("download_failed", "deploy kimi --host gpu1"),
    ],
)
def test_a_failure_says_what_to_type(code: str, command: str) -> None:
    with pytest.raises(DeployError) as error:
        read({"error": {"code": code, "message": "it went wrong"}}, SOURCE)
    assert (error.value.code, error.value.message) == (code, "it went wrong")
    assert command in (next_after(error.value) or "")


def test_an_unknown_code_offers_the_same_command_again() -> None:
    assert next_after(failure("new", "m", SOURCE)) == "deploy kimi --host gpu1"


def test_without_a_manifest_no_file_is_known() -> None:
    assert known_files(None, ()) == {}


def test_a_patched_config_is_not_held_against_its_upstream_size() -> None:
    assert known_files(MANIFEST, {"config.json"}) == {"a.safetensors": KnownFile(size=5, sha256="s")}
