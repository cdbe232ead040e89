"""What the final command and environment ask a person's consent for, however it is spelt."""

from __future__ import annotations

from functools import partial

import pytest

from orchestrator.engines import consents
from orchestrator.engines.vllm.consents import RULES

needed = partial(consents.needed, rules=RULES)
HERE = ("--host", "127.0.0.1")
FOLDER = "/home/ml/models/x"


@pytest.mark.parametrize(
    "options",
    [
        ["--trust-remote-code"],
        ["--trust_remote_code"],
        ["--trust-rem"],
        ["--tr"],
        ["--trust-remote-code=true"],
        ["--trust-remote-code", "True"],
        ["--no-trust-remote-code", "--trust-remote-code"],
        ["--hf-overrides", '{"trust_remote_code": true}'],
        ["--hf-overrides.trust_remote_code", "true"],
        ["--speculative-config={'trust-remote-code': 1}"],
        ["--tool-parser-plugin", f"{FOLDER}/parser.py"],
        ["--middleware", f"{FOLDER}/../x/guard.py"],
        ["--kv-transfer-config", f'{{"kv_connector_module_path": "{FOLDER}/connector.py"}}'],
        ["--hf-overrides", r'{"trust_remote_c\u006fde": true}'],
        ["--hf-overrides", '{"trust_remote_code": 0.5}'],
        ["--speculative-config", '{"draft": [{"trust_remote_code": true}]}'],
        ["--tool-parser-pl", f"{FOLDER}/parser.py"],
        ["--tool-parser-plugin", "models/x/parser.py"],
        ["--tool-parser-plugin", "./other/../models/x/parser.py"],
        ["--middleware", "models.x.guard.Guard"],
        ["--logits-processors", r'["\u002fhome/ml/models/x/p.py:P"]'],
        ["--structured-outputs-config.reasoning_parser_plugin", f"{FOLDER}/think.py"],
        ["--generation-config", f"{FOLDER}/code.py"],
        ["--tool-parser-plugin", "~/models/x/parser.py"],
        ["--tool-parser-plugin", "~/x/models/../../models/x/parser.py"],
        ["--tool-parser-plugin", "../x/parser.py"],
        ["--middleware", "x.guard.Guard"],
        ["--hf-overrides", '{"trust_remote_code": "yes"}'],
    ],
)
def test_code_of_the_checkpoint(options: list[str]) -> None:
    assert list(needed((*HERE, *options), {}, folder=FOLDER)) == ["trust-remote-code"]


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--no-trust-remote-code"],
        ["--trust-remote-code", "--no-trust-remote-code"],
        ["--trust-request-chat-template"],
        ["--hf-overrides", '{"trust_remote_code": false}'],
        ["--hf-overrides", '{"trust_remote_code": null}'],
        ["--no-hf-overrides", '{"trust_remote_code": true}'],
        ["--tool-parser-plugin", f"/{FOLDER}/parser.py"],
        ["--tool-parser-plugin", "~/parser.py"],
        ["--tool-parser-plugin", "y.py"],
        ["--middleware", "guard"],
        ["--tool-parser-plugin", "/home/ml/plugins/parser.py"],
        ["--tool-parser-plugin", "/home/ml/models/x2/parser.py"],
        ["--tool-parser-plugin", "plugins/parser.py"],
        ["--middleware", "acme.guard.Guard"],
        ["--model", FOLDER],
        ["--chat-template", f"{FOLDER}/chat_template.jinja"],
        ["--reasoning-parser", "kimi_k2"],
        ["--speculative-config", '{"method": "mtp", "num_speculative_tokens": 1}'],
        ["--compilation-config", '{"cudagraph_mode": "PIECEWISE", "cudagraph_capture_sizes": [1, 2]}'],
    ],
)
def test_no_code_of_the_checkpoint(options: list[str]) -> None:
    assert needed((*HERE, *options), {}, folder=FOLDER) == {}


@pytest.mark.parametrize(
    ("variables", "asks"),
    [
        ({"HF_HUB_TRUST_REMOTE_CODE": "1"}, True),
        ({"HF_HUB_TRUST_REMOTE_CODE": "0"}, False),
        ({"HF_HUB_TRUST_REMOTE_CODE": "False"}, False),
        ({"PYTHONPATH": f"/opt/lib:{FOLDER}"}, True),
        ({"LD_PRELOAD": f"{FOLDER}/lib.so"}, True),
        ({"PYTHONPATH": "/opt/lib"}, False),
        ({"PYTHONPATH": "models/x:/opt/lib"}, True),
        ({"PYTHONPATH": f"{FOLDER}:hf_{'a' * 34}"}, True),
        ({"LD_AUDIT": f"{FOLDER}/a.so"}, True),
        ({"VLLM_NCCL_SO_PATH": f"{FOLDER}/nccl.so"}, True),
        ({"HF_MODULES_CACHE": f"{FOLDER}/.cache"}, True),
        ({"MODEL_PATH": FOLDER, "VLLM_CACHE_ROOT": "/scratch/x", "X": "x", "OMP_NUM_THREADS": "8"}, False),
    ],
)
def test_variables_that_run_code_of_the_checkpoint(variables: dict[str, str], asks: bool) -> None:
    assert list(needed(HERE, variables, folder=FOLDER)) == ["trust-remote-code"] * asks


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["--host", "0.0.0.0"],
        ["--host=::"],
        ["--host", ""],
        ["--hos", "10.1.2.3"],
        ["--host", "gpu7"],
        ["--host", "127.1"],
        ["--host", "127.0.0.1", "--host", "0.0.0.0"],
        ["--host", "127.0.0.1", "--ho=0.0.0.0"],
        [*HERE, "--kv-events-config", '{"enable_kv_cache_events": true}'],
        [*HERE, "--kv-events-config", '{"endpoint": "tcp://*:5557"}'],
        [*HERE, "--data-parallel-address", "0.0.0.0"],
        [*HERE, "--kv-events-config.enable_kv_cache_events", "true"],
        [*HERE, "--kv-ev.enable_kv_cache_events", "true"],
        [*HERE, "--kv-events-config", r'{"endpoint": "tcp:\u002f/*:5557"}'],
        [*HERE, "--kv-transfer-config", '{"kv_ip": "0.0.0.0"}'],
    ],
)
def test_an_open_address(argv: list[str]) -> None:
    assert list(needed(argv, {})) == ["listen-openly"]


@pytest.mark.parametrize(
    "argv",
    [
        HERE,
        ["--host", "localhost"],
        ["--host", "::1"],
        ["--host", "0.0.0.0", "--host", "127.0.0.1"],
        [*HERE, "--allowed-origins", '["*"]'],
        [*HERE, "--kv-events-config", '{"enable_kv_cache_events": true, "endpoint": "tcp://127.0.0.1:5557"}'],
        [*HERE, "--kv-events-config", '{"enable_kv_cache_events": true, "publisher": "null"}'],
        [*HERE, "--kv-events-config", '{"enable_kv_cache_events": false}'],
        [*HERE, "--kv-events-config", '{"enable_kv_cache_events": null}'],
        [*HERE, "--kv-events-config", '{"publisher": "zmq"}'],
        [*HERE, "--kv-transfer-config.enable_kv_cache_events", "true"],
        [
            *HERE,
            "--kv-events-config.enable_kv_cache_events",
            "true",
            "--kv-events-config.endpoint",
            "tcp://127.0.0.1:5",
        ],
    ],
)
def test_an_address_of_this_machine(argv: list[str]) -> None:
    assert needed(argv, {"NO_PROXY": "0.0.0.0,localhost"}) == {}


def test_a_variable_that_binds() -> None:
    assert list(needed(HERE, {"VLLM_NIXL_SIDE_CHANNEL_HOST": "0.0.0.0"})) == ["listen-openly"]


def test_an_address_that_only_the_proxy_leaves_out_binds_nothing() -> None:
    assert needed(HERE, {"VLLM_HOST_IP": "10.1.2.3", "NO_PROXY": "0.0.0.0"}) == {}


@pytest.mark.parametrize(
    ("argv", "variables", "asks"),
    [
        (["--trust-rem"], {}, {"trust-remote-code": "--trust-rem"}),
        (["--hf-overrides.trust_remote_code", "true"], {}, {"trust-remote-code": "--hf-overrides.trust_remote_code true"}),
        (["--trust-remote-code", "--no-trust-remote-code"], {"X_TRUST_REMOTE_CODE": "1"}, {"trust-remote-code": "X_TRUST_REMOTE_CODE=1"}),
        (["--middleware", f"{FOLDER}/a.py"], {}, {"trust-remote-code": f"--middleware {FOLDER}/a.py"}),
        ([], {"LD_PRELOAD": f"{FOLDER}/a.so"}, {"trust-remote-code": f"LD_PRELOAD={FOLDER}/a.so"}),
        (["--host", "0.0.0.0"], {}, {"listen-openly": "--host 0.0.0.0"}),
        (["--kv-transfer-config.ip", "0.0.0.0"], {}, {"listen-openly": "--kv-transfer-config.ip 0.0.0.0"}),
        (["--kv-events-config.enable_kv_cache_events", "true"], {}, {"listen-openly": "--kv-events-config without an endpoint"}),
        ([], {"X_BIND": "0.0.0.0:1"}, {"listen-openly": "X_BIND=0.0.0.0:1"}),
    ],
)  # fmt: skip
def test_what_asks_for_a_consent_is_told(
    argv: list[str], variables: dict[str, str], asks: dict[str, str]
) -> None:
    assert needed((*HERE, *argv), variables, folder=FOLDER) == asks


def test_a_command_without_an_address_listens_everywhere() -> None:
    assert needed((), {}) == {"listen-openly": "no --host, so every address"}


def test_no_secret_is_told_with_the_reason() -> None:
    token = f"hf_{'a' * 34}"
    assert token not in str(needed(HERE, {"PYTHONPATH": f"{FOLDER}:{token}"}, folder=FOLDER))
