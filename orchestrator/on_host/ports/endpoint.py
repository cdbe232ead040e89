"""What does the inference server on a port of this machine answer?"""

from __future__ import annotations

import json
import re
import socket
from dataclasses import dataclass
from typing import Any

LARGEST = 16 << 20
"""Bytes of an answer that are read: whoever answers on the port may be somebody else."""


@dataclass(frozen=True)
class Response:
    """An HTTP answer; `status` is None, and `text` says why, when none came."""

    status: int | None
    text: str

    def json(self) -> Any:
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None


def reachable(host: str) -> str:
    """The address to ask a server at that was told to listen on `host`."""
    return {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)


def ask(
    host: str,
    port: int,
    path: str,
    *,
    body: Any = None,
    api_key: str | None = None,
    timeout: float = 5.0,
) -> Response:
    """GET, or POST where there is a body (JSON), with a timeout in seconds for each wait."""
    address = reachable(host)
    try:  # the HTTP modules take longer to import than nobody takes to refuse
        socket.create_connection((address, port), timeout=timeout).close()
    except OSError as error:
        return Response(None, str(error))
    return _ask(address, port, path, body, api_key, timeout)


def _ask(address: str, port: int, path: str, body: Any, api_key: str | None, timeout: float) -> Response:
    import http.client
    import urllib.error
    import urllib.request

    url = f"http://{f'[{address}]' if ':' in address else address}:{port}{path}"
    headers = {"Content-Type": "application/json"}
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    data = None if body is None else json.dumps(body).encode()
    # A proxy of the environment would answer for the server, so none is used.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, data, headers), timeout=timeout) as response:
            return Response(response.status, response.read(LARGEST).decode(errors="replace"))
    except urllib.error.HTTPError as error:
        with error:
            return Response(error.code, _rest(error))
    except urllib.error.URLError as error:
        return Response(None, str(error.reason))
    except (OSError, http.client.HTTPException) as error:
        return Response(None, f"{type(error).__name__}: {error}")


def _rest(error: Any) -> str:
    import http.client

    try:
        text: str = error.read(LARGEST).decode(errors="replace")
        return text
    except (OSError, http.client.HTTPException):
        return ""


def health(host: str, port: int, path: str, *, timeout: float = 5.0) -> int | None:
    """The status of GET `path`; None when nobody answers."""
    return ask(host, port, path, timeout=timeout).status


def models(
    host: str, port: int, *, api_key: str | None = None, timeout: float = 5.0
) -> dict[str, int | None] | None:
    """What /v1/models lists, as `parse_models` reads it; None when it does not answer with a list."""
    return parse_models(ask(host, port, "/v1/models", api_key=api_key, timeout=timeout))


def parse_models(answer: Response) -> dict[str, int | None] | None:
    """The ids in an answer of /v1/models, each with the tokens that one request may have, None where it does not say;
    None where it is no list."""
    listed = answer.json()
    try:
        return {str(model["id"]): _tokens(model.get("max_model_len")) for model in listed["data"]}
    except (TypeError, KeyError, AttributeError):
        return None


def _tokens(value: Any) -> int | None:
    return value if type(value) is int and 0 < value < 1 << 31 else None


def tokens_made(host: str, port: int, counter: str, *, timeout: float) -> int | None:
    """How many tokens the engine has made for all of its clients, by a counter of its /metrics; None where it does not tell."""
    answer = ask(host, port, "/metrics", timeout=timeout)
    return parse_tokens(answer.text, counter) if answer.status == 200 else None


def parse_tokens(text: str, counter: str) -> int | None:
    """The sum of a counter over the server's engines, from the text form of Prometheus."""
    values = re.findall(rf"^{re.escape(counter)}(?:\{{[^}}\n]*\}})? (\d[\d.e+]*)$", text, re.MULTILINE)
    try:
        return sum(int(float(value)) for value in values) if values else None
    except (ValueError, OverflowError):
        return None
