"""Tokens or none. The servers are stand-ins (stand_in.py)."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.on_host.ports import endpoint
from orchestrator.on_host.programs import smoke
from tests.ports import free_port

USAGE = {"prompt_tokens": 4, "completion_tokens": 8}

COUNTER = "vllm:generation_tokens_total"


def judged(value: Any, status: int = 200) -> dict[str, Any]:
    return smoke.judge(endpoint.Response(status, value if isinstance(value, str) else json.dumps(value)), 2.0)


def test_tokens_count_whatever_their_text() -> None:
    answer = judged({"choices": [{"text": "", "finish_reason": "length"}], "usage": USAGE})
    assert answer == {
        "ok": True,
        "status": 200,
        "text": "",
        "tokens": 8,
        "seconds": 2.0,
        "tokens_per_second": 4.0,
        "error": None,
    }


def test_a_chat_completion_of_reasoning_alone_has_no_content() -> None:
    value = {"choices": [{"message": {"content": None}, "finish_reason": "stop"}], "usage": USAGE}
    assert judged(value)["ok"] is True
    assert judged(value)["text"] == ""


@pytest.mark.parametrize(
    ("value", "status", "error"),
    [
        (
            {"choices": [{"text": "x", "finish_reason": "stop"}], "usage": {"completion_tokens": 0}},
            200,
            "no token",
        ),
        ({"choices": [{"text": "x", "finish_reason": "error"}], "usage": USAGE}, 200, "ended with 'error'"),
        ({"choices": []}, 200, "not a completion"),
        ({"choices": [{"message": None}], "usage": USAGE}, 200, "not a completion"),
        ("<html>", 200, "not a completion"),
        ([], 200, "not a completion"),
        (
            {"error": {"message": "EngineCore encountered an issue.", "code": 500}},
            500,
            "EngineCore encountered",
        ),
        ({"error": "Unauthorized"}, 401, "Unauthorized"),
        ("bad gateway", 502, "bad gateway"),
    ],
)
def test_no_proof(value: Any, status: int, error: str) -> None:
    answer = judged(value, status)
    assert answer["ok"] is False
    assert answer["status"] == status
    assert error in answer["error"]


def completion(text: str) -> list[Any]:
    return [200, {"choices": [{"text": text, "finish_reason": "length"}], "usage": USAGE}]


CHAT = [200, {"choices": [{"message": {"content": "four"}, "finish_reason": "stop"}], "usage": USAGE}]
NO_MODEL = [404, {"error": {"message": "The model `tiny` does not exist.", "code": 404}}]
CHAT_ONLY = [400, {"error": {"message": "The model does not support Completions API", "code": 400}}]


@pytest.mark.parametrize(
    ("posts", "ok", "text"),
    [
        ({"/v1/completions": completion(" 4"), "/v1/chat/completions": CHAT}, True, " 4"),
        ({"/v1/chat/completions": CHAT}, True, "four"),
        ({"/v1/completions": CHAT_ONLY, "/v1/chat/completions": CHAT}, True, "four"),
        ({"/v1/completions": NO_MODEL, "/v1/chat/completions": CHAT}, False, None),
        ({}, False, None),
    ],
)
def test_over_http(
    bystander: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    posts: dict[str, Any],
    ok: bool,
    text: str | None,
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    port = free_port()
    bystander(port=port, posts=posts)
    request = {
        "port": port,
        "host": "0.0.0.0",
        "model": "tiny",
        "prompt": "2+2=",
        "max_tokens": 8,
        "counter": COUNTER,
    }
    answer = smoke.main({**request, "timeout": 5, "api_key": None})
    assert (answer["ok"], answer["text"], answer["context"]) == (ok, text, 4096 if ok else None)
    assert answer["seconds"] > 0


def test_nobody_there() -> None:
    request = {
        "port": free_port(),
        "host": "127.0.0.1",
        "model": "m",
        "prompt": "x",
        "max_tokens": 1,
        "counter": COUNTER,
    }
    answer = smoke.main({**request, "timeout": 5, "api_key": None})
    assert (answer["ok"], answer["status"], answer["late"]) == (False, None, False)
    assert "refused" in answer["error"]


def test_a_server_that_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        request = {
            "port": mute.getsockname()[1],
            "host": "127.0.0.1",
            "model": "m",
            "prompt": "x",
            "counter": COUNTER,
        }
        answer = smoke.main({**request, "max_tokens": 1, "timeout": 0.2, "api_key": None})
    assert (answer["ok"], answer["status"], answer["late"]) == (False, None, True)
    assert answer["error"] == "no completion came within 0.2 s"


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ('vllm:generation_tokens_total{engine="0",model_name="tiny"} 1234.0\n', 1234),
        ("vllm:generation_tokens_total 7\n", 7),
        (
            "# TYPE vllm:generation_tokens_total counter\n"
            'vllm:generation_tokens_total{engine="0"} 1.0e+06\nvllm:generation_tokens_total{engine="1"} 2.0\n'
            'vllm:generation_tokens_created{engine="0"} 1.7e+09\n',
            1_000_002,
        ),
        ("vllm:prompt_tokens_total 3.0\n", None),
        ("vllm:generation_tokens_total NaN\n", None),
        ("vllm:generation_tokens_total 1e999\n", None),
        ("vllm:generation_tokens_total 1.2.3\n", None),
        ("", None),
    ],
)
def test_what_the_engine_made_for_anybody(text: str, made: int | None) -> None:
    assert endpoint.parse_tokens(text, COUNTER) == made


@pytest.mark.parametrize(
    ("listed", "models"),
    [
        ({"data": [{"id": "a", "max_model_len": 512}, {"id": "b"}]}, {"a": 512, "b": None}),
        ({"data": [{"id": "a", "max_model_len": True}]}, {"a": None}),
        ({"data": [{"id": "a", "max_model_len": -1}]}, {"a": None}),
        ({"data": [{"id": "a", "max_model_len": "512"}]}, {"a": None}),
        ({"data": ["a"]}, None),
        ({"data": [{}]}, None),
        ([], None),
    ],
)
def test_what_it_lists(listed: Any, models: Any) -> None:
    assert endpoint.parse_models(endpoint.Response(200, json.dumps(listed))) == models
