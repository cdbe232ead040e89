"""What went wrong between this host and the Hub, in one of a few stable codes?

Errors are told apart by the names of their classes: huggingface_hub moved them between modules, and its
transport changed from requests to httpx, between releases that engine environments still hold.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator

TRANSIENT = ("hub_unreachable", "download_failed")
"""Codes after which the same request may well succeed a moment later."""

_BY_NAME = {
    "GatedRepoError": "hub_gated",
    "RepositoryNotFoundError": "hub_not_found",
    "RevisionNotFoundError": "hub_not_found",
    "RemoteEntryNotFoundError": "hub_not_found",
    "DisabledRepoError": "hub_not_found",
    "OfflineModeIsEnabled": "hub_unreachable",
    "ProxyError": "hub_unreachable",
    "ConnectError": "hub_unreachable",
    "ConnectionError": "hub_unreachable",
    "SSLError": "hub_unreachable",
    "TransportError": "hub_unreachable",
    "Timeout": "hub_unreachable",
    "ChunkedEncodingError": "hub_unreachable",
}
_BY_ERRNO = {
    errno.ENOSPC: "disk_full",
    errno.EDQUOT: "disk_full",
    errno.EACCES: "permission",
    errno.EPERM: "permission",
    errno.EROFS: "permission",
}


_MEANING = {
    "hub_gated": "access to this repository must be granted to the account first",
    "hub_not_found": "it does not exist, or is hidden from this account",
    "hub_auth": "the token is not accepted",
    "hub_unreachable": "no usable answer",
}


class DownloadFailure(Exception):
    """A download that ended, with its stable code and one sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def code_of(error: BaseException) -> str:
    """hub_gated, hub_not_found, hub_auth, hub_unreachable, disk_full, permission or download_failed."""
    for link in _chain(error):
        for kind in type(link).__mro__:
            if kind.__name__ in _BY_NAME:
                return _BY_NAME[kind.__name__]
        if "No space left on device" in str(link) or "Disk quota exceeded" in str(link):
            return "disk_full"  # hf_xet gives the system's words, not its number
        if isinstance(link, OSError) and link.errno in _BY_ERRNO:
            return _BY_ERRNO[link.errno]
        status = getattr(getattr(link, "response", None), "status_code", None)
        if status in (401, 403):
            return "hub_auth"
        if isinstance(status, int) and (status == 429 or status >= 500):
            return "hub_unreachable"
    return "download_failed"


def sentence_of(error: BaseException) -> str:
    """What the error means, with its own first telling line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    own = f"{type(error).__name__}: {lines[0] if lines else 'no message'}"[:400]
    meaning = _MEANING.get(code_of(error))
    return f"{meaning} ({own})" if meaning else own


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__
