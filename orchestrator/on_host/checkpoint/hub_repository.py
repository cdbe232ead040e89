"""How is the Hub asked for a repository's files, with which token?"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from orchestrator.on_host.checkpoint import hub_attempts
from orchestrator.on_host.checkpoint.hub_errors import DownloadFailure
from orchestrator.on_host.secrets import hub_token, secrets


class HubRepository:
    """A repository on the Hub at one revision: it is asked when that is first needed, and then for one commit alone."""

    def __init__(self, request: dict[str, Any], folder: str) -> None:
        self._request, self._folder = request, folder
        self._turn = threading.Lock()
        self._opened: tuple[Any, Any, dict[str, Any]] | None = None

    @property
    def info(self) -> Any:
        """The listing. Raises DownloadFailure."""
        return self._open()[1]

    def fetch(self, name: str) -> None:
        """Get a file into the folder. Raises DownloadFailure, and what huggingface_hub does."""
        library, _, arguments = self._open()
        library.hf_hub_download(filename=name, **arguments)

    def _open(self) -> tuple[Any, Any, dict[str, Any]]:
        with self._turn:
            if self._opened is None:
                library = _library()
                endpoint = (self._request.get("endpoint") or library.constants.ENDPOINT).rstrip("/")
                info, token = _resolve(library, endpoint, self._request)
                arguments = {
                    "repo_id": self._request["repository"],
                    "revision": info.sha,
                    "local_dir": self._folder,
                    "endpoint": endpoint,
                    "token": token or False,  # False: not even the host's own, where it must not be sent
                }
                self._opened = library, info, arguments
            return self._opened


def tokens(own: str | None, callers: str | None, endpoint: str, consent: bool) -> list[str | None]:
    """Which tokens to try, in order: the host's own, the caller's, none.

    Without consent none is sent over plain http or to anybody but huggingface.co.
    """
    if not consent and not hub_token.trusted(endpoint):
        return [None]
    return [token for token in dict.fromkeys((own, callers)) if token] + [None]


def _library() -> Any:
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    try:
        import huggingface_hub
        import huggingface_hub.constants
    except ImportError as error:
        raise DownloadFailure(
            "hub_missing", f"huggingface_hub cannot be imported by {sys.executable}: {error}"
        ) from error
    return huggingface_hub


def _resolve(hub: Any, endpoint: str, request: dict[str, Any]) -> tuple[Any, str | None]:
    """The repository's listing at the revision, and the token that opens it."""
    consent = bool(request.get("token_consent"))
    places = [hub_token.place({**os.environ, "HF_ENDPOINT": endpoint}), hub_token.place(os.environ)]
    # asking for a token may itself send one: an OAuth or OIDC token is renewed at the environment's HF_ENDPOINT
    own = _own_token(hub) if consent or all(map(hub_token.trusted, places)) else None
    secrets.remember(own or "")
    callers = request.get("token")
    choices = tokens(own, callers, places[0], consent)
    first: DownloadFailure | None = None
    for token in choices:
        try:
            return _listing(hub, endpoint, request, token), token
        except DownloadFailure as failure:
            if failure.code not in ("hub_gated", "hub_not_found", "hub_auth"):
                raise
            first = first or failure
    assert first is not None
    if choices == [None] and (own or callers or _has_token(hub)):
        withheld = f"; a token is at hand but is not sent to {endpoint} without consent"
        raise DownloadFailure("hub_token_withheld", first.message + withheld)
    raise first


def _own_token(hub: Any) -> str | None:
    try:
        token: str | None = hub.get_token()
    except Exception:  # a broken token store is no reason not to fetch a public model
        return None
    return token


def _has_token(hub: Any) -> bool:
    withheld, _ = hub_token.withheld({**os.environ, "HF_ENDPOINT": "http://"}, consent=False)
    return bool(withheld) or os.path.exists(hub.constants.HF_TOKEN_PATH)


def _listing(hub: Any, endpoint: str, request: dict[str, Any], token: str | None) -> Any:
    api = hub.HfApi(endpoint=endpoint, token=token or False)
    name, revision = request["repository"], request["revision"]

    def ask() -> Any:
        info = api.model_info(name, revision=revision, files_metadata=True)
        if getattr(info, "gated", False):
            api.auth_check(name)
        return info

    return hub_attempts.persist(ask, f"{name} at {revision} on {endpoint}", attempts=2)
