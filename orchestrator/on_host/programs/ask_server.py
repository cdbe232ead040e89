"""What does a server of this machine, or one that it reaches, answer to one request?"""

from __future__ import annotations

from typing import Any

from orchestrator.on_host.ports import endpoint


def main(request: dict[str, Any]) -> dict[str, Any]:
    """GET, or POST of an empty object.

    request: host, port, path, post (whether), api_key, timeout (seconds). Answers {status, text}: the status is null where nobody
    answered, and the text says why.
    """
    answer = endpoint.ask(
        request["host"],
        request["port"],
        request["path"],
        body={} if request["post"] else None,
        api_key=request["api_key"],
        timeout=request["timeout"],
    )
    return {"status": answer.status, "text": answer.text}
