"""Which error is a download that failed on the host?"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.base.errors import CheckpointError, DeployError, Locked, PreflightRefused


@dataclass(frozen=True)
class Source:
    """What is downloaded to where; names the things in the command that mends a failure on the host."""

    playbook: str
    host: str
    repository: str
    folder: str
    endpoint: str
    python: str


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
        "hub_token_withheld": PreflightRefused,
    }
    known = {"consent": "token-to-endpoint"} if code == "hub_token_withheld" else {}
    return kinds.get(code, CheckpointError)(code, message, next_command=commands.get(code), **known)
