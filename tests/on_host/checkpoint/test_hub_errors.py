from __future__ import annotations

import errno
from types import SimpleNamespace

import pytest

from orchestrator.on_host.checkpoint.hub_errors import code_of, sentence_of


class ConnectError(Exception):
    """As httpx names it."""


class GatedRepoError(Exception):
    """As huggingface_hub names it."""


class LocalEntryNotFoundError(FileNotFoundError):
    """As huggingface_hub wraps what happened before."""


def answered(status: int) -> Exception:
    error = OSError("answered")
    error.response = SimpleNamespace(status_code=status)  # type: ignore[attr-defined]
    return error


def wrapped(cause: Exception) -> Exception:
    error = LocalEntryNotFoundError("An error happened while trying to locate the file on the Hub")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (GatedRepoError(), "hub_gated"),
        (wrapped(GatedRepoError()), "hub_gated"),
        (ConnectError(), "hub_unreachable"),
        (ConnectionRefusedError(), "hub_unreachable"),
        (wrapped(ConnectError()), "hub_unreachable"),
        (answered(503), "hub_unreachable"),
        (answered(429), "hub_unreachable"),
        (answered(401), "hub_auth"),
        (wrapped(answered(403)), "hub_auth"),
        (answered(418), "download_failed"),
        (OSError(errno.ENOSPC, "No space left on device"), "disk_full"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "disk_full"),
        (RuntimeError("IO Error: No space left on device (os error 28)"), "disk_full"),
        (PermissionError(errno.EACCES, "Permission denied"), "permission"),
        (OSError(errno.EROFS, "Read-only file system"), "permission"),
        (ValueError("x"), "download_failed"),
    ],
)
def test_errors_have_codes(error: Exception, code: str) -> None:
    assert code_of(error) == code


def test_a_circle_of_causes_ends() -> None:
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert code_of(first) == "download_failed"


def test_the_first_telling_line() -> None:
    assert sentence_of(ValueError("\n\n 401 Client Error.\nmore")) == "ValueError: 401 Client Error."
    assert sentence_of(ConnectError("refused")) == "no usable answer (ConnectError: refused)"
    assert sentence_of(ValueError()) == "ValueError: no message"
