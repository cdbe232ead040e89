"""Which repository is downloaded into which folder, and how does that stand?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from orchestrator.programs.errand import ErrandStanding, FailedErrand, spoken
from orchestrator.programs.request import Request, Stored, secret


class DownloadHolder(Stored):
    """What a running download noted of itself in its lock; `since` is host time."""

    repository: str | None = None
    revision: str | None = None
    folder: str | None = None
    since: str | None = None


class DownloadProgress(Stored):
    """How far a download is: bytes, files, bytes a second, seconds to go; `file` is one under way."""

    bytes: int
    total: int
    files_done: int
    files: int
    rate: int
    eta_seconds: int | None = None
    file: str | None = None


class Fetched(Stored):
    """A download that ended well: the commit, the files of the checkpoint, how many were fetched now."""

    done: Literal[True] = True
    commit: str
    files: int
    fetched: int
    bytes: int
    kept: tuple[str, ...] = ()
    """Small files that somebody edited on the host: they stayed as they are."""


ProgressLine = Annotated[FailedErrand | Fetched | DownloadProgress, Field(union_mode="left_to_right")]


class DownloadStanding(ErrandStanding):
    """`holder` is what the running download noted of itself, or the last one; `last` is the last line of progress."""

    holder: DownloadHolder | None
    last: Annotated[ProgressLine | None, BeforeValidator(spoken)]


class FetchedFile(Stored):
    """One file of a commit: bytes, sha256 in hex where the Hub tells one, and the id of its blob in git."""

    size: int | None = None
    sha256: str | None = None
    blob: str | None = None


class Manifest(Stored):
    """What the last download fetched into a folder, from where; not `complete` while it is under way or was cut off. `rate`
    is the bytes a second of the last one that took long enough to tell."""

    repository: str | None = None
    commit: str | None = None
    endpoint: str | None = None
    complete: bool = False
    rate: int | None = None
    files: Mapping[str, FetchedFile]


class StartDownload(Request[DownloadStanding]):
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


class DownloadStatus(Request[DownloadStanding]):
    program = "download"

    action: Literal["status"] = "status"
    instance: str
