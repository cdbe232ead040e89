"""Which repository is downloaded into which folder, and how does that stand?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from orchestrator.programs.request import Request, Value, secret


class Standing(Value):
    """`holder` is what the running download noted of itself, `last` the last line of progress, `room` where it tells."""

    state: Literal["started", "running", "done", "failed", "stopped", "none"]
    holder: Mapping[str, Any] | None
    last: Mapping[str, Any] | None
    room: str


class StartDownload(Request[Standing]):
    """`keep` are files whose local bytes are ours; the token may go wherever the endpoint leads with `token_consent`."""

    program = "download"

    action: Literal["start"] = "start"
    instance: str
    repository: str
    revision: str
    folder: str
    ignore: tuple[str, ...]
    endpoint: str | None
    token: str | None = secret(None)
    token_consent: bool
    foreign_folder: bool
    keep: tuple[str, ...]


class DownloadStatus(Request[Standing]):
    program = "download"

    action: Literal["status"] = "status"
    instance: str
