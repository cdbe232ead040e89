"""History, status and errors as text."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.base.errors import PreflightRefused, UsageError
from orchestrator.programs.journal import read
from orchestrator.report import history, status
from orchestrator.report.error import error_lines
from orchestrator.report.layout import StyledLine, plain
from orchestrator.survey.group_status import group_status
from tests.report.snapshots import check

CAUSE = (
    "ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(head_size=576, "
    "dtype=torch.bfloat16, kv_cache_dtype=fp8_e4m3, block_size=None, use_mla=True, has_sink=False, use_sparse=False, "
    "use_mm_prefix=False, attn_type=AttentionType.DECODER). Reasons: {FLASH_ATTN_MLA: [kv_cache_dtype not supported, "
    "compute capability not supported, FlashAttention MLA not supported on this device], FLASHINFER_MLA: [compute "
    "capability not supported], TRITON_MLA: [kv_cache_dtype not supported], FLASHMLA_SPARSE: [kv_cache_dtype not "
    "supported, non-sparse not supported, compute capability not supported]}."
)
RECORDS: list[dict[str, Any]] = [
    {"action": "launch", "launch": 1, "pid": 4711},
    {"action": "outcome", "launch": 1, "result": "failed", "cause": CAUSE, "finding": "fp8-kv-mla"},
    {"action": "stop", "ended": [{"pid": 1}] * 9, "shm_removed": ["psm_a", "psm_b"], "by_person": False},
    {
        "action": "patch",
        "patch": "fp8-kv-mla",
        "why": "finding",
        "folder": "/models/kimi",
        "files": [
            {"name": name, "before": "0a", "after": "1b"} for name in ("config.json", "hf_quant_config.json")
        ],
        "flags": {"--kv-cache-dtype": None, "--max-model-len": "65536"},
        "environment": {},
    },
    {"action": "launch", "launch": 2, "pid": 4812},
    {"action": "outcome", "launch": 2, "result": "healthy"},
    {"action": "stop", "ended": [], "shm_removed": [], "by_person": True},
    {"action": "revert", "patch": "fp8-kv-mla", "by_person": True},
    {"action": "revert", "patch": "fp8-kv-mla", "by_person": True, "forgotten": True},
    {"action": "stop_failed", "launch": 2, "survivors": "pid 4812 (python3, state D)"},
    {"action": "of_the_future", "machine": "m", "count": 3},
    {
        "action": "clean",
        "what": {
            "compile_cache": {
                "removed": ["/home/ml/.cache/vllm/torch_compile_cache"],
                "kept": [{"path": "/p", "reason": "r"}],
            },
            "stale_lock": {"removed": [], "kept": []},
            "gpu_memory_wait": {
                "seconds": 5.2,
                "used_mib": {"0": 900},
                "holders": [{"pid": 7, "user": "u", "command": "python3"}],
            },
        },
    },
    {
        "action": "patch",
        "patch": "stale-cache",
        "folder": "/models/kimi",
        "why": "finding",
        "files": [],
        "way": "clean compile cache",
    },
    {"action": "discard", "folder": "/models/kimi", "files": ["model-00003.safetensors"]},
    {
        "action": "consent",
        "consent": "trust-remote-code",
        "repository": "nvidia/Kimi",
        "commit": "0a1b2c3",
        "code": {"a.py": "0f"},
    },
]
STATE: dict[str, Any] = {
    "host": "gpu7",
    "playbook": "kimi-k2.5",
    "state": "dead, orphans alive",
    "group": None,
    "launch": 3,
    "started_at": "2026-07-25T10:02:11.123+00:00",
    "exit_code": 1,
    "members": [{"pid": 4711, "name": "VLLM::Worker_TP4", "rss_bytes": 3 * 2**30}],
    "health": None,
    "models": [],
    "context": None,
    "asked_context": 131072,
    "shm": {"entries": 12, "bytes": 402653184},
    "log": {
        "path": "/home/ml/.local/state/deploy/kimi-k2.5/launches/3/vllm.log",
        "silent_seconds": 75.0,
    },
    "outcome": {"launch": 3, "result": "failed", "cause": CAUSE},
    "patches": [
        {"patch": "fp8-kv-mla", "confirmed": False, "files": ["config.json", "hf_quant_config.json"]}
    ],
}


def text(lines: list[StyledLine]) -> str:
    return "".join(f"{plain(line)}\n" for line in lines)


@pytest.mark.parametrize("width", [80, 100])
def test_history(width: int) -> None:
    times = (f"2026-07-25T10:{minute:02}:00.000+00:00" for minute in range(60))
    records = [read({"at": at, **record}) for at, record in zip(times, RECORDS, strict=False)]
    shown = text(history.table(records, width))
    assert max(len(line) for line in shown.splitlines()) <= width
    check(f"history-{width}", shown)


@pytest.mark.parametrize(
    "action",
    [
        "launch",
        "outcome",
        "patch",
        "revert",
        "stop",
        "stop_failed",
        "clean",
        "discard",
        "consent",
        "download",
        "new_one",
    ],
)
@pytest.mark.parametrize("value", [None, 3, "text", [1], ["a", {}], {"a": 1}, {"a": {"removed": 3}}])
def test_a_record_without_its_keys_is_told_all_the_same(action: str, value: Any) -> None:
    keys = (
        "launch",
        "result",
        "cause",
        "finding",
        "patch",
        "files",
        "flags",
        "environment",
        "way",
        "what",
        "ended",
    )
    for record in ({"action": action}, {"action": action, "at": value, **dict.fromkeys(keys, value)}):
        assert len(history.table([read(record)], 80)) >= 2
    assert "{" not in text(history.table([read({"action": action})], 80))


def test_status() -> None:
    shown = text(status.table(STATE, 80))
    assert max(len(line) for line in shown.splitlines()) <= 80
    check("status", shown)


def test_status_says_a_context_beside_the_one_that_was_asked_for() -> None:
    shown = text(status.table({**STATE, "context": 46112}, 80))
    assert "  context    46112 (asked 131072)\n" in shown


def test_status_of_what_was_never_launched() -> None:
    never = {**STATE, "state": "never launched", "launch": None, "members": [], "outcome": None, "log": None}
    shown = text(status.table({**never, "shm": {"entries": 0, "bytes": 0}, "patches": []}, 80))
    assert shown == "kimi-k2.5 on gpu7: never launched\n"


GROUP = {"hosts": ["gpu7", "gpu8"], "rank": 1, "serves": False, "role": "worker 1"}


def test_status_of_a_host_that_serves_with_others_leads_to_all_of_them() -> None:
    whole = "deploy status kimi-k2.5 --host gpu7 --host gpu8 --as-one"
    shown = text(status.table({**STATE, "state": "computing", "group": GROUP}, 80, whole=whole))
    assert "  group      worker 1 of 2 hosts: gpu7, gpu8\n" in shown
    assert f"  all of it  {whole}\n" in shown
    assert "health" not in shown


def test_status_of_hosts_that_serve_as_one() -> None:
    worker = {**STATE, "host": "gpu8", "role": "worker 1", "group": GROUP}
    gone = {
        "host": "gpu9",
        "role": "worker 2",
        "error": {"code": "host_unreachable", "message": "gpu9 is gone. " * 6},
    }
    head = {
        **STATE,
        "role": "head",
        "state": "healthy",
        "health": 200,
        "models": ["kimi"],
        "context": 4096,
        "patches": [],
    }
    shown = text(status.group_table(group_status("kimi-k2.5", "kimi-k2.5", [head, worker, gone]), 80))
    assert max(len(line) for line in shown.splitlines()) <= 80
    check("status-group", shown)


def test_an_error_says_what_where_and_the_next_command() -> None:
    error = PreflightRefused(
        "port_taken",
        "gpu7: port 8000 is taken by pid 8121 (python3 -m sglang.launch_server, user ml, since 09:12). It is not "
        "ours, so it stays.",
    )
    assert text(error_lines(error, "deploy kimi-k2.5 --host gpu7 --set port=8001", "gpu7")) == (
        "deploy: gpu7: port 8000 is taken by pid 8121 (python3 -m sglang.launch_server,\n"
        "user ml, since 09:12). It is not ours, so it stays.\n"
        "  next: deploy kimi-k2.5 --host gpu7 --set port=8001        [port_taken, exit 4]\n"
    )


def test_a_long_next_command_stays_whole() -> None:
    command = "deploy kimi-k2.5 --host gpu7 " + "--set key=value " * 5
    shown = text(error_lines(PreflightRefused("code", "message"), command.strip(), "gpu8"))
    assert shown.splitlines()[0] == "deploy: gpu8: message"
    assert f"  next: {command.strip()}" in shown.splitlines()
    assert shown.splitlines()[-1] == "[code, exit 4]".rjust(80)


def test_a_path_longer_than_a_line_does_not_leave_the_name_alone() -> None:
    shown = text(error_lines(UsageError("code", f"/{'x' * 90}: gone\nsecond"), ""))
    assert shown.splitlines()[0].startswith("deploy: /xxx")
    assert "second" in shown.splitlines()


def test_an_engine_that_was_installed_is_told_with_its_place() -> None:
    record = {"action": "install", "engine": "vllm==0.16.0", "folder": "/e/vllm-0.16.0", "python": "3.12.3"}
    assert history.words(read(record)) == (
        "install",
        "vllm==0.16.0 on Python 3.12.3 into /e/vllm-0.16.0",
        "",
    )
