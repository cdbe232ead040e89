"""What does a download on the host tell, as values and as errors?"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.base.errors import CheckpointError, DeployError, Locked, PreflightRefused
from orchestrator.programs.discard import KnownFile


@dataclass(frozen=True)
class DownloadProgress:
    """How far a download is: bytes, files, bytes a second, seconds to go; `file` is one under way."""

    bytes: int
    total: int
    files_done: int
    files: int
    rate: int
    eta_seconds: int | None
    file: str | None


@dataclass(frozen=True)
class Fetched:
    """A download that ended well: the commit, the files of the checkpoint, how many were fetched now."""

    commit: str
    files: int
    fetched: int
    bytes: int
    kept: tuple[str, ...] = ()
    """Small files that somebody edited on the host: they stayed as they are."""


@dataclass(frozen=True)
class Source:
    """What is downloaded to where; names the things in the command that mends a failure on the host."""

    playbook: str
    host: str
    repository: str
    folder: str
    endpoint: str
    python: str


def read(line: Mapping[str, Any], source: Source) -> DownloadProgress | Fetched:
    """The value of one line of progress.jsonl; raises the error of a line that tells a failure."""
    if "error" in line:
        raise failure(str(line["error"]["code"]), str(line["error"]["message"]), source)
    if line.get("done"):
        kept = tuple(line.get("kept") or ())
        return Fetched(line["commit"], line["files"], line["fetched"], line["bytes"], kept)
    return DownloadProgress(
        bytes=line.get("bytes", 0),
        total=line.get("total", 0),
        files_done=line.get("files_done", 0),
        files=line.get("files", 0),
        rate=line.get("rate", 0),
        eta_seconds=line.get("eta_seconds"),
        file=line.get("file"),
    )


def failure(code: str, message: str, source: Source) -> DeployError:
    """The error of a failed download; the codes are those of `on_host/checkpoint/hub_errors.py`."""
    commands = {
        "hub_gated": f"hf auth login  # on {source.host}, with access granted at {source.endpoint}/{source.repository}",
        "hub_auth": f"hf auth login  # on {source.host}, with a token that may read {source.repository}",
        "hub_unreachable": f"curl -sSI {source.endpoint}  # on {source.host}",
        "disk_full": f"df -h {source.folder}  # on {source.host}",
        "hub_missing": f"{source.python} -m pip install huggingface_hub  # on {source.host}",
    }
    kinds: dict[str, type[DeployError]] = {
        "checkpoint_busy": Locked,
        "foreign_folder": PreflightRefused,
        "foreign_files": PreflightRefused,
    }
    return kinds.get(code, CheckpointError)(code, message, next_command=commands.get(code))


def known_files(manifest: Mapping[str, Any] | None, patched: Collection[str]) -> dict[str, KnownFile]:
    """Size (bytes) and sha256 of each file for `verify`, without those that a patch of ours changed.

    Only large files are measured: a person may edit the small ones.
    """
    files = (manifest or {}).get("files") or {}
    return {
        name: KnownFile(size=entry.get("size") if entry.get("sha256") else None, sha256=entry.get("sha256"))
        for name, entry in files.items()
        if name not in patched
    }
