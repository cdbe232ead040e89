"""Which engine wrote a log, told from its first lines."""

from __future__ import annotations

import pytest

from orchestrator.diagnosis import origin
from orchestrator.engines.log_grammar import LogGrammar
from orchestrator.engines.sglang.log.grammar import GRAMMAR as SGLANG
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from tests.diagnosis.labels import CASES, grammar_of
from tests.diagnosis.labels import log as log_of
from tests.diagnosis.test_sglang import DIES, SERVES, START

BOTH = (GRAMMAR, SGLANG)
ECHOED = b"+ python -m something\nnohup: ignoring input\n"


@pytest.mark.parametrize("beginning", [START, SERVES, DIES, ECHOED + START, START.replace(b"\n", b"\r\n")])
def test_a_log_of_the_second_engine(beginning: bytes) -> None:
    assert origin.of(beginning, BOTH) is SGLANG
    assert origin.of(beginning, BOTH[::-1]) is SGLANG


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
        '  File "/opt/venv/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py", line 9, in run_scheduler_process',
        "launch_server.py: error: unrecognized arguments: --x",
        "usage: sglang serve [-h] --model-path MODEL_PATH",
    ],
)
def test_an_excerpt_without_a_header_shows_its_engine_by_what_only_that_one_says(text: str) -> None:
    assert origin.of(f"{text}\n".encode(), BOTH) is SGLANG


def test_every_log() -> None:
    for case in CASES:
        assert origin.of(log_of(case)[: 256 << 10], BOTH) is grammar_of(case), case.id


@pytest.mark.parametrize(
    "beginning", [b"", ECHOED, b"\xff\xfe\n" * 9, b"Traceback (most recent call last):\n"]
)
@pytest.mark.parametrize("grammars", [BOTH, BOTH[::-1], BOTH[:1]])
def test_where_the_log_tells_nothing_it_is_the_first_ones(
    beginning: bytes, grammars: tuple[LogGrammar, ...]
) -> None:
    assert origin.of(beginning, grammars) is grammars[0]
