"""Do tokens come out of the server?"""

from __future__ import annotations

import time
from typing import Any

from orchestrator.on_host.ports import endpoint

METRICS_SECONDS = 2.0
"""How long the server may take to tell what it has made; one that takes longer is not known to make anything."""


def main(request: dict[str, Any]) -> dict[str, Any]:
    """One completion, or one chat completion where the server knows no other.

    request: port, host, model, prompt, max_tokens, counter (of its tokens in /metrics), timeout (seconds in all), api_key. Answers {ok, status, text,
    tokens, seconds, tokens_per_second, error, late, context, made_before, made_after}; ok only when a token came, whatever its
    text; late where the server took the request and had not answered when the time was over. `context` is how many tokens one request may have, by the server's own list (null: it
    does not say, or not ok). `made_before` and
    `made_after` are the tokens that the engine had made for anybody, null where it does not tell (or ok).
    """
    host, port = request.get("host") or "127.0.0.1", request["port"]
    patience = min(METRICS_SECONDS, float(request["timeout"]))
    made_before = endpoint.tokens_made(host, port, request["counter"], timeout=patience)
    answer = _complete(request)
    made_after = (
        None if answer["ok"] else endpoint.tokens_made(host, port, request["counter"], timeout=patience)
    )
    return {
        **answer,
        "context": _context(request) if answer["ok"] else None,
        "made_before": made_before,
        "made_after": made_after,
    }


def _context(request: dict[str, Any]) -> int | None:
    host, key = request.get("host") or "127.0.0.1", request.get("api_key")
    listed = endpoint.models(host, request["port"], api_key=key, timeout=METRICS_SECONDS)
    return (listed or {}).get(request["model"])


def _complete(request: dict[str, Any]) -> dict[str, Any]:
    began = time.monotonic()
    limits = {"model": request["model"], "max_tokens": request["max_tokens"], "temperature": 0}
    seconds = float(request["timeout"])
    answer = _post(request, "/v1/completions", {**limits, "prompt": request["prompt"]}, seconds)
    if _chat_only(answer):
        message = {"role": "user", "content": request["prompt"]}
        left = max(0.1, began + seconds - time.monotonic())
        answer = _post(request, "/v1/chat/completions", {**limits, "messages": [message]}, left)
    took = time.monotonic() - began
    if answer.status is None and took >= seconds:
        answer = endpoint.Response(None, f"no completion came within {seconds:g} s")
    return {**judge(answer, took), "late": answer.status is None and took >= seconds}


def _post(request: dict[str, Any], path: str, body: dict[str, Any], seconds: float) -> endpoint.Response:
    return endpoint.ask(
        request.get("host") or "127.0.0.1",
        request["port"],
        path,
        body=body,
        api_key=request.get("api_key"),
        timeout=seconds,
    )


def _chat_only(answer: endpoint.Response) -> bool:
    """No such path, or vLLM's own words; a 404 that speaks of the model means a model it does not serve."""
    text = _error(answer).lower()
    return (answer.status == 404 and "model" not in text) or "not support completions" in text


def _error(answer: endpoint.Response) -> str:
    value = answer.json()
    error = value.get("error") if isinstance(value, dict) else None
    if isinstance(error, dict):
        error = error.get("message")
    return str(error or answer.text)[:2000]


def judge(answer: endpoint.Response, seconds: float) -> dict[str, Any]:
    """What a completion's answer proves."""
    result: dict[str, Any] = {
        "ok": False,
        "status": answer.status,
        "text": None,
        "tokens": 0,
        "seconds": round(seconds, 3),
        "tokens_per_second": None,
        "error": None,
    }
    if answer.status != 200:
        return {**result, "error": _error(answer)}
    value = answer.json()
    try:
        choice = value["choices"][0]
        text = choice["text"] if "text" in choice else choice["message"].get("content")
        tokens = int(value["usage"]["completion_tokens"])
        finish = choice.get("finish_reason")
    except (TypeError, KeyError, IndexError, ValueError, OverflowError, AttributeError):
        return {**result, "error": f"not a completion: {answer.text[:500]}"}
    result.update(
        text=str(text or ""), tokens=tokens, tokens_per_second=round(tokens / max(seconds, 0.001), 1)
    )
    if tokens < 1:
        return {**result, "error": "the completion has no token"}
    if finish not in ("stop", "length", "tool_calls"):
        return {**result, "error": f"the completion ended with {finish!r}"}
    return {**result, "ok": True}
