"""A plan without a host: by the names of cards, or by facts that were saved."""

from __future__ import annotations

import json
import shlex
import socket
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.main import run
from orchestrator.facts.gather import Facts
from orchestrator.facts.saved import Saved, as_json
from tests.cli.imported import imported
from tests.plan.hosts import SOCKETS, machine_of
from tests.surveys import cards, engine

FLAGSHIP = ["plan", "kimi-k2.5", "--gpu", "8xRTX PRO 6000", "--vllm", "0.16.0"]


def plan(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, Any]:
    assert run([*words, "--json"]) == code
    *_, last = capsys.readouterr().out.splitlines()
    printed: dict[str, Any] = json.loads(last)
    return printed


@pytest.fixture
def saved(tmp_path: Path) -> str:
    """The flagship's host as `deploy doctor --save` wrote it."""
    facts = {
        "gpus": cards(), "engine": engine("0.16.0"), "topology": SOCKETS, "p2p": (), "gpu_processes": (),
        "machine": machine_of("dual_turin", home="/home/ml"),
    }  # fmt: skip
    path = tmp_path / "gpu7.json"
    path.write_text(json.dumps(as_json(Saved("gpu7", "2026-11-30T09:00:00+00:00", Facts(facts)))))
    return str(path)


def test_the_flagship_is_planned_by_the_name_of_its_cards(capsys: pytest.CaptureFixture[str]) -> None:
    printed = plan(capsys, *FLAGSHIP)
    assert printed["host"] is None
    assert printed["engine"]["version"] == "0.16.0"
    assert printed["fit"]["verdict"] == "fits"
    assert [(each["patch"], each["certainty"]) for each in printed["predictions"]] == [
        ("fp8-kv-mla", "certain")
    ]
    assert "once they are there" in printed["predictions"][0]["action"]
    command = printed["command"]
    assert command[command.index("--max-model-len") + 1] == "131072"
    assert "free disk" in printed["not_known"] and "who has the port" in printed["not_known"]
    assert printed["error"] is None


def test_several_hosts_together_are_planned_by_how_many_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    printed = plan(capsys, *FLAGSHIP, "--nodes", "2")
    nodes = [host["node"] for host in printed["hosts"]]
    assert [(node["rank"], node["address"]) for node in nodes] == [(0, "HOST-1"), (1, "HOST-2")]
    assert all("how the hosts reach each other" in host["not_known"] for host in printed["hosts"])
    assert (printed["between"], printed["error"]) == ([], None)
    written = plan(capsys, *FLAGSHIP, "--set", "parallel.nodes=2", "--set", "parallel.pipeline=2")
    assert [host["node"] for host in written["hosts"]] == nodes
    assert run([*FLAGSHIP, "--nodes", "2"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("kimi-k2.5 on 2 hosts\n")
    assert "on HOST-2 the same, but for" in text


def test_what_a_playbook_leaves_open_is_chosen_for_all_hosts_together(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["plan", "kimi-k2", "--vllm", "0.24.0", "--nodes", "2", "--gpu"]
    printed = plan(capsys, *words, "8xH100")
    for host in printed["hosts"]:
        command = host["command"]
        assert [command[command.index(f"--{name}-parallel-size") + 1] for name in ("tensor", "pipeline")] == [
            "8",
            "2",
        ]
    few = plan(capsys, *words, "4xH100", code=4)
    assert few["error"]["code"] == "weights_too_large"
    chosen = {choice["key"]: choice["reason"] for choice in few["hosts"][0]["choices"]}
    assert "4 such hosts would hold it" in chosen["parallel.nodes"]


def test_how_many_is_no_option_where_hosts_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    refused = plan(capsys, "plan", "kimi-k2.5", "--host", "gpu7.invalid", "--nodes", "2", code=2)
    assert "--nodes is for hosts that are not named" in refused["error"]["message"]


def test_a_text_says_what_is_not_known_and_can_be_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(FLAGSHIP) == 0
    text = capsys.readouterr().out
    assert text.startswith("kimi-k2.5   8x RTX PRO 6000 (cc 12.0)   vllm 0.16.0\n")
    assert "no host was asked" in " ".join(text.split())
    assert '--model "$HOME"/models/kimi-k2.5-nvfp4' in text


def test_neither_host_nor_network_is_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert plan(capsys, *FLAGSHIP)["error"] is None
    assert not imported(FLAGSHIP) & {"paramiko", "fabric", "huggingface_hub", "rich", "httpx", "requests"}


def test_without_a_version_nothing_is_refused_and_nothing_is_foreseen_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    printed = plan(capsys, *FLAGSHIP[:-2])
    assert printed["engine"]["version"] is None
    assert printed["predictions"] == []
    assert "the installed engine" in printed["not_known"]
    assert run(FLAGSHIP[:-2]) == 0
    assert "vllm of a version that is not known" in " ".join(capsys.readouterr().out.split())


def test_of_a_pinned_engine_the_version_is_known_and_another_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = {"layers": 61, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "kv_cache": "fp8"}
    content = {
        "model": {"repository": "deploy-tests/pinned"},
        "engine": {"install": "vllm==0.17.1"},
        "context": 4096,
        "figures": figures,
    }
    (tmp_path / "mine.yaml").write_text(json.dumps(content))
    pinned = ["plan", str(tmp_path / "mine.yaml"), *FLAGSHIP[2:-2]]
    printed = plan(capsys, *pinned)
    assert printed["engine"]["version"] == "0.17.1"
    assert [each["patch"] for each in printed["predictions"]] == ["fp8-kv-mla"]
    words = [*pinned, "--vllm", "0.18.0"]
    monkeypatch.setattr("sys.argv", ["deploy", *words])
    error = plan(capsys, *words, code=4)["error"]
    assert error["code"] == "engine_version"
    assert error["next"].endswith("--vllm 0.17.1")


@pytest.mark.parametrize(
    ("cards_named", "version", "code", "follows"),
    [
        ("4xRTX PRO 6000", "0.16.0", "gpus_missing", "--gpu '8xRTX PRO 6000'"),
        ("8xRTX 5090", "0.16.0", "gpu_memory", "--gpu '8xH100 NVL'"),
        ("8xRTX PRO 6000", "0.14.0", "engine_version", "--vllm 0.15"),
    ],
)
def test_what_is_refused_for_certain_leaves_with_4_and_a_command_that_is_not(
    cards_named: str,
    version: str,
    code: str,
    follows: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["plan", "kimi-k2.5", "--gpu", cards_named, "--vllm", version]
    monkeypatch.setattr("sys.argv", ["deploy", *words])
    printed = plan(capsys, *words, code=4)
    assert printed["error"]["code"] == code
    assert printed["error"]["next"].endswith(follows)
    assert run(shlex.split(printed["error"]["next"])[1:]) == 0


@pytest.mark.parametrize(
    ("argument", "code", "follows"),
    [
        ("moe-bakend=triton", "option_unknown", "--engine-arg moe-backend=triton"),
        ("kv-cache-dtype=fp8_ds", "option_value", "--engine-arg kv-cache-dtype=fp8_ds_mla"),
        ("rope-theta=10000", "option_not_there", "--vllm 0.24.0"),
    ],
)
def test_an_option_that_ends_the_engine_at_once_is_refused_before_anything_is_fetched(
    argument: str,
    code: str,
    follows: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["plan", "kimi-k2.5", "--gpu", "8xRTX PRO 6000", "--vllm", "0.24.0", "--engine-arg", argument]
    monkeypatch.setattr("sys.argv", ["deploy", *words])
    printed = plan(capsys, *words, code=4)
    assert [refusal["code"] for refusal in printed["refusals"]] == [code]
    assert printed["error"]["next"].endswith(follows)
    assert run(shlex.split(printed["error"]["next"])[1:]) == 0


def test_a_context_that_this_release_cannot_choose_leads_to_one_that_fits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["plan", "qwen3-32b", "--gpu", "H200", "--vllm", "0.11.0", "--set", "context=auto"]
    monkeypatch.setattr("sys.argv", ["deploy", *words])
    error = plan(capsys, *words, code=4)["error"]
    assert error["code"] == "option_value"
    assert error["next"].endswith("--set context=40960")
    assert run(shlex.split(error["next"])[1:]) == 0


def test_an_option_of_another_release_is_launched_as_this_one_spells_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [*FLAGSHIP, "--engine-arg", "task=embed", "--engine-arg", "disable-mm-preprocessor-cache"]
    printed = plan(capsys, *words)
    assert printed["command"][-4:] == ["--runner", "pooling", "--mm-processor-cache-gb", "0"]
    assert [(each["asked"], each["instead"], each["when"]) for each in printed["adaptations"]] == [
        ("--task embed", ["--runner pooling"], "since vLLM 0.13.0"),
        ("--disable-mm-preprocessor-cache", ["--mm-processor-cache-gb 0"], "since vLLM 0.13.0"),
    ]
    assert run([*FLAGSHIP, "--engine-arg", "task=embed", "--engine-arg", "swap-space=4"]) == 0
    text = capsys.readouterr().out
    assert "  renamed    --task embed is --runner pooling since vLLM 0.13.0" in text
    assert "  left out   --swap-space 4: " not in text  # 0.16.0 has it still


def test_saved_facts_are_planned_as_the_host_they_are_of(
    saved: str, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = plan(capsys, "plan", "kimi-k2.5", "--facts", saved)
    assert printed["host"] == "gpu7"
    assert printed["engine"]["version"] == "0.16.0"
    assert printed["command"][0] == "/home/ml/ml-env/bin/python3"
    assert "/home/ml/models/kimi-k2.5-nvfp4" in printed["command"]
    assert [(each["patch"], each["certainty"]) for each in printed["predictions"]] == [
        ("fp8-kv-mla", "certain"),
        ("nccl-shm-full", "likely"),  # 64 MiB
    ]
    assert "what changed since 2026-11-30T09:00:00+00:00" in printed["not_known"]
    newer = plan(capsys, "plan", "kimi-k2.5", "--facts", saved, "--vllm", "0.24.0")
    assert [each["patch"] for each in newer["predictions"]] == ["nccl-shm-full"]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--gpu", "H200", "--host", "local"],
        ["--gpu", "H200", "--facts", "x.json"],
        ["--gpu", ""],
    ],
)
def test_exactly_one_is_planned_for(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "kimi-k2.5", *words]) == 2
    assert "--host HOST, --gpu [COUNTx]NAME and --facts FILE" in " ".join(capsys.readouterr().err.split())


def test_a_wrong_card_or_file_is_a_usage_error_with_what_is_near(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["plan", "kimi-k2.5", "--gpu", "8xRTX PRO 600", "--vllm", "0.16.0"]
    monkeypatch.setattr("sys.argv", ["deploy", *words])
    assert run(words) == 2
    assert "--gpu '8xRTX PRO 6000'" in " ".join(capsys.readouterr().err.split())
    (tmp_path / "other.json").write_text("{}")
    for name in ("nowhere.json", "other.json"):
        assert run(["plan", "kimi-k2.5", "--facts", str(tmp_path / name)]) == 2
        assert "deploy doctor --host HOST --save FILE" in " ".join(capsys.readouterr().err.split())


def test_a_variant_of_a_playbook_that_leaves_the_host_open(capsys: pytest.CaptureFixture[str]) -> None:
    told = plan(capsys, "plan", "glm-4.7-fp8", "--gpu", "8xRTX PRO 6000", "--vllm", "0.24.0")
    assert (told["playbook"], told["fit"]["verdict"]) == ("glm-4.7-fp8", "fits")
    assert {"parallel.tensor", "context", "arguments.tool-call-parser"} <= {
        item["key"] for item in told["choices"]
    }
    origins = {item["name"]: item["origin"] for item in told["options"]}
    assert (origins["tensor-parallel-size"], origins["port"]) == ("chosen", "default")
    (level,) = (item for item in told["environment"] if item["name"] == "NCCL_P2P_LEVEL")
    assert (level["origin"], level["confirmed"]) == ("chosen", False)
    assert level["leave_out"] == "--set environment.NCCL_P2P_LEVEL=null"
    assert "--tensor-parallel-size" in told["command"]
    left = plan(
        capsys,
        "plan",
        "glm-4.7-fp8",
        "--gpu",
        "8xRTX PRO 6000",
        "--vllm",
        "0.24.0",
        "--set",
        "environment.NCCL_P2P_LEVEL=null",
    )
    assert "NCCL_P2P_LEVEL" not in {item["name"] for item in left["environment"]}
