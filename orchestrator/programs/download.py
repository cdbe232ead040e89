"""Which repository is downloaded into which folder, and how does that stand?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from orchestrator.programs.errand import ErrandStanding, FailedErrand, spoken
from orchestrator.programs.request import Request, Stored, Value, secret


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


class WrongFile(Stored):
    """A file that another host gave, and whose hash was not the repository's."""

    file: str
    host: str


class Fetched(Stored):
    """A download that ended well: the commit, the files of the checkpoint, how many were fetched now. `given` is how many bytes
    came from which other host; the rest came from the Hub."""

    done: Literal[True] = True
    commit: str
    files: int
    fetched: int
    bytes: int
    kept: tuple[str, ...] = ()
    """Small files that somebody edited on the host: they stayed as they are."""
    given: Mapping[str, int] = {}
    wrong: tuple[WrongFile, ...] = ()


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
    revision: str | None = None
    ignore: tuple[str, ...] | None = None
    """The patterns of files that were not wanted."""
    commit: str | None = None
    endpoint: str | None = None
    complete: bool = False
    rate: int | None = None
    files: Mapping[str, FetchedFile]


class Listing(Value):
    """The files of a commit that are wanted."""

    commit: str
    files: Mapping[str, FetchedFile]


class Peer(Value):
    """Another host that gives files to whoever knows the word."""

    name: str
    address: str
    port: int
    word: str = secret("")


class StartDownload(Request[DownloadStanding]):
    """`keep` are files whose local bytes are ours; the token may go wherever the endpoint leads with `token_consent`. With a
    `listing` the `peers` are asked first, the first of them is the source; which file is begun with says `turn`."""

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
    listing: Listing | None = None
    peers: tuple[Peer, ...] = secret(())
    turn: tuple[int, int] = (0, 1)


class DownloadStatus(Request[DownloadStanding]):
    program = "download"

    action: Literal["status"] = "status"
    instance: str
