"""What is known before a launch, and what only seems to be."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.engines.node import MEETING_PORT, Node
from orchestrator.facts.examined.network import Network, RdmaPort
from orchestrator.plan import resolve
from orchestrator.plan.known import kv_dtype, of_host, of_launch
from orchestrator.playbook import playbook as playbooks
from orchestrator.playbook.playbook import Figures, Playbook
from orchestrator.survey.checkpoint import Checkpoint
from tests.surveys import CONFIG, NO_FILES, WHOLE, knowing, survey

KIMI = playbooks.find("kimi-k2.5", [shipped("playbooks")])
UNTOLD = KIMI.model_copy(update={"figures": KIMI.figures.model_copy(update={"kv_cache": None})})
PLAIN = replace(WHOLE, configs={"config.json": json.dumps({**CONFIG, "quantization_config": None}).encode()})


@pytest.mark.parametrize(
    ("checkpoint", "version", "flag", "figures", "dtype"),
    [
        (WHOLE, "0.16.0", None, True, "fp8_e4m3"),
        (WHOLE, None, None, True, None),  # what a checkpoint comes to depends on the version
        (WHOLE, None, "fp8", True, "fp8"),
        (WHOLE, "0.16.0", "auto", True, "fp8_e4m3"),
        (PLAIN, "0.16.0", None, True, "auto"),
        (PLAIN, None, None, True, "auto"),  # whatever the version
        (NO_FILES, "0.16.0", None, True, "fp8_e4m3"),
        (NO_FILES, "0.16.0", None, False, None),
    ],
)
def test_the_kv_caches_type(
    checkpoint: Checkpoint, version: str | None, flag: str | None, figures: bool, dtype: str | None
) -> None:
    playbook = KIMI if figures else UNTOLD
    playbook = playbook.with_overrides((), (f"kv-cache-dtype={flag}",) if flag else ())
    found = survey(checkpoint=checkpoint, version=version)
    known = of_launch(playbook, found, version, resolve.standing(playbook, found))
    assert known.engine.get("kv_cache_dtype") == dtype


def test_files_facts_and_options() -> None:
    found = survey()
    known = of_launch(KIMI, found, "0.16.0", resolve.standing(KIMI, found))
    assert (known.version_of("vllm"), known.compute_cap, known.gpus, known.attention) == (
        "0.16.0",
        "12.0",
        8,
        "mla",
    )
    assert known.arguments is not None and known.arguments["max_model_len"] == "131072"
    assert known.documents is not None and known.documents["config.json"]["model_type"] == "kimi_k25"
    assert known.cache_type == "fp8_e4m3"
    nothing = of_launch(KIMI, survey(checkpoint=NO_FILES), None, resolve.standing(KIMI, found))
    assert (nothing.documents, nothing.cache_type) == (None, None)


def test_what_the_host_says_is_known_of_whatever_is_launched_there() -> None:
    found = survey()
    host = of_host(KIMI, found, "0.16.0")
    assert (host.kind, host.version, host.compute_cap, host.gpus) == ("vllm", "0.16.0", "12.0", 8)
    assert host.arguments is host.attention is host.documents is None
    launch = of_launch(KIMI, found, "0.16.0", resolve.standing(KIMI, found))
    assert host.over(launch) == launch.over(host) == launch


def test_without_files_and_figures_nothing_is_made_up() -> None:
    bare = KIMI.model_copy(update={"figures": Figures()})
    there = survey(checkpoint=NO_FILES)
    options = resolve.standing(bare, there)
    assert of_launch(bare, there, "0.16.0", options).attention is None
    assert of_launch(KIMI, there, "0.16.0", options).attention == "mla"
    assert kv_dtype(bare, {}, "0.16.0", options) == "auto"
    assert kv_dtype(KIMI, WHOLE.configs, None, options) == "auto"


def test_hosts_and_what_they_reach_each_other_by_are_known_of_those_that_serve_together() -> None:
    ports = (
        RdmaPort("mlx5_0", 1, True, "ACTIVE", 400.0, None, None),
        RdmaPort("mlx5_1", 1, False, "DOWN", None, None, None),
    )
    there = knowing(survey(), network=Network((), ports))
    node = KIMI.as_node(Node(0, 2, "10.0.0.1", MEETING_PORT, "10.0.0.1", "eth0"))

    def host(playbook: Playbook) -> dict[str, str]:
        known = of_launch(playbook, there, "0.16.0", resolve.standing(playbook, there)).host
        return {name: value for name, value in known.items() if name in ("hosts", "rdma_ports")}

    assert (host(KIMI), host(node)) == ({}, {"hosts": "2", "rdma_ports": "1"})
