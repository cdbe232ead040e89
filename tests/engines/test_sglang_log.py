"""The forms of SGLang's lines: headers, settings, commands, from 0.4 to 0.5.23."""

from __future__ import annotations

import pytest

from orchestrator.engines import registry
from orchestrator.engines.protocol import Engine
from orchestrator.engines.sglang.log.grammar import GRAMMAR

DECODES = "Decode batch, #running-req: 1, #token: 50, gen throughput (token/s): 57.31, #queue-req: 0"
REQUEST = "Receive: obj=GenerateReqInput(text='x')"


@pytest.mark.parametrize(
    ("text", "process", "message"),
    [
        ("[2026-11-20 10:00:05 TP0] Load weight begin.", "TP0", "Load weight begin."),
        ("[2026-11-20 10:00:05 DP1 TP3 EP3] Load weight begin.", "DP1 TP3 EP3", "Load weight begin."),
        ("[2026-11-20 10:00:05 PP0 ATTN_CP1 MOE_DP0 TP1] x", "PP0 ATTN_CP1 MOE_DP0 TP1", "x"),
        ("[2026-11-20 10:00:05.123 DP0] x", "DP0", "x"),
        ("[2026-11-20 10:00:05] Load weight begin.", "scheduler", "Load weight begin."),
        ("[2026-11-20 10:00:05] Scheduler hit an exception: y", "scheduler", "Scheduler hit an exception: y"),
        ("[2026-11-20 10:00:05] DetokenizerManager hit an exception: y", "detokenizer", None),
        (
            "[2026-11-20 10:00:05] DataParallelController hit an exception: y",
            "data parallel controller",
            None,
        ),
        ("[2026-11-20 10:00:05] TokenizerManager hit an exception: y", "tokenizer manager", None),
        ("[2026-11-20 10:00:05] Received sigquit from a child process. x", "main process", None),
        ("[2026-11-20 10:00:05 encode_server] x", "encode_server", "x"),
        ("[12-16 14:27:08] Rank 0 scheduler is dead.", "main process", "Rank 0 scheduler is dead."),
        ("[2026-11-20 10:00:01] [2026-11-20 10:00:05 TP0] x", "TP0", "x"),
        (f"[2026-11-20 10:00:05] {REQUEST}", None, REQUEST),
    ],
)
def test_a_header_says_when_and_mostly_who(text: str, process: str | None, message: str | None) -> None:
    head = GRAMMAR.records.head(text)
    assert (head.process, head.level, head.file) == (process, "", None)
    assert head.time in ("11-20 10:00:05", "12-16 14:27:08")
    assert message is None or head.rest == message


@pytest.mark.parametrize(
    "text",
    [
        "[2026-11-20 10:00:05] gpu7:4711:4780 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.7<0>",
        "[2026-11-20 10:00:05,123 E 4711 4711] core_worker.cc:123: x",
        "[rank0]: Traceback (most recent call last):",
        "[Gloo] Rank 0 is connected to 0 peer ranks.",
        "INFO 11-20 10:00:05 [__init__.py:190] Automatically detected platform cuda.",
        "[2026-11-20 10:00:05]",
    ],
)
def test_a_line_of_somebody_else_has_no_header(text: str) -> None:
    assert GRAMMAR.records.head(text).level is None


@pytest.mark.parametrize(
    "text",
    [
        "server_args=ServerArgs(model_path='/srv/x', mem_fraction_static=0.87, tp_size=8, lora=Lora(tp_size=1), port=30000)",
        "server_args={'model_path': '/srv/x', 'mem_fraction_static': 0.87, 'tp_size': 8, 'port': 30000}",
        "server_args={'model_path': '/srv/x', 'mem_fraction_static': 0.87, 'tp_size': 8, 'odd': <X: 1>, 'port': 30000}",
    ],
)
def test_settings_are_read_in_either_form(text: str) -> None:
    settings = GRAMMAR.start.portrait(text).settings or {}
    read = {name: settings[name] for name in ("model_path", "mem_fraction_static", "tp_size", "port")}
    assert read == {"model_path": "/srv/x", "mem_fraction_static": "0.87", "tp_size": "8", "port": "30000"}


def test_what_a_shell_echoed_tells_what_was_given() -> None:
    for program in ("sglang serve /srv/x", "python3 -m sglang.launch_server --model-path /srv/x"):
        given = GRAMMAR.start.commanded(f"+ {program} --tp-size 2 --disable-cuda-graph") or {}
        assert (given["tp_size"], given["disable_cuda_graph"]) == ("2", "True")


def test_sizes_version_card_and_backend_are_read() -> None:
    start = GRAMMAR.start
    assert start.portrait("KV Cache is allocated. #tokens: 136192, K size: 5.2 GB").kv_tokens == 136192
    assert start.detail("- Compute capability: 120").compute_cap == "12.0"
    assert start.detail("sglang: 0.5.9").version == "0.5.9"
    backend = "Attention backend not explicitly specified. Use fa3 backend by default."
    assert start.detail(backend).attention_backend == "fa3"


@pytest.mark.parametrize("text", ["The server is fired up and ready to roll!", DECODES])
def test_what_shows_that_it_serves(text: str) -> None:
    milestone = GRAMMAR.start.milestones.search(text)
    assert milestone is not None and milestone.lastgroup == "up"


def test_its_logs_are_read_and_it_is_not_launched() -> None:
    assert not isinstance(registry.read("sglang"), Engine)
    assert "sglang" in registry.kinds() and "sglang" not in registry.launched()
    with pytest.raises(LookupError, match="SGLang is not launched"):
        registry.get("sglang")


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("--mem-fraction-static", True),
        ("--gpu-memory-utilization", False),
        ("--tp-size", False),
        ("--host", False),
    ],
)
def test_a_remedy_names_only_options_that_it_has_and_that_are_nobodys_wish(name: str, taken: bool) -> None:
    rules = registry.read("sglang").arguments
    if taken:
        assert rules.remedied(name, "set", "0.8") == name.removeprefix("--")
    else:
        with pytest.raises(ValueError, match=r"has no option|for a person to choose"):
            rules.remedied(name, "set", "0.8")
