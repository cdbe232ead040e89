"""What stands around the lines of a log is learned from them, and taken off without losing where they stood."""

from __future__ import annotations

import json
import textwrap

import pytest

from orchestrator.diagnosis.carriers import peel
from orchestrator.diagnosis.carriers.peeled import Peeled
from orchestrator.engines.sglang.log.grammar import GRAMMAR as SGLANG
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from tests.diagnosis.test_sglang import DIES

LOG = [
    "(APIServer pid=7) INFO 02-20 21:35:01 [api_server.py:9] vLLM API server version 0.16.0",
    "(EngineCore_DP0 pid=9) ERROR 02-20 21:35:07 [core.py:944] EngineCore failed to start.",
    "Traceback (most recent call last):",
    '  File "/opt/vllm/v1/engine/core.py", line 935, in run_engine_core',
    '    raise ValueError("it is said in more than eighty letters why an engine does not start")',
    "",
    "ValueError: it is said in more than eighty letters why an engine does not start at all, today",
]


def bare(lines: list[str]) -> list[str]:
    raw = "".join(f"{text}\n" for text in lines).encode()
    return b"".join(Peeled(peel.learn(raw, [GRAMMAR])).whole([raw])).decode().splitlines()


@pytest.mark.parametrize(
    "before",
    [
        "> ", "    ", "\t", "anything | at all > ", "2026-02-20 21:35:07,123 - runner - INFO - ", "<b> ",
        "#12 34.56 ", "gpu7: ", "job/3 ## ", "»»» ",
    ],
)  # fmt: skip
def test_what_stands_before_every_line_is_taken_off(before: str) -> None:
    assert bare([f"{before}{text}" for text in LOG]) == LOG


def test_a_box_has_two_sides_and_edges() -> None:
    width = max(map(len, LOG))
    edges = ["┌" + "─" * (width + 2) + "┐", "└" + "─" * (width + 2) + "┘"]
    boxed = [edges[0], *(f"│ {text:{width}} │" for text in LOG), edges[1]]
    assert bare(boxed) == ["", *LOG, ""]


@pytest.mark.parametrize("template", ['x {n} "log"=>"{text}", "k"=>"v"', 'say: "{text}" ({n})'])
def test_what_is_quoted_is_known_by_what_stands_before_it(template: str) -> None:
    quoted = [template.format(n=n, text=json.dumps(text)[1:-1]) for n, text in enumerate(LOG)]
    assert bare(quoted) == LOG


def test_what_is_quoted_without_a_name_is_nobodys() -> None:
    raw = "".join(f'"GET /{text}" 404\n' for text in LOG).encode()
    assert not peel.learn(raw, [GRAMMAR]).around


def test_numbers_times_and_levels_may_differ_from_line_to_line() -> None:
    lines = [
        f"{n:>4} 21:0{n}:{n * 7:02} {'INFO' if n % 2 else 'WARNING':8} p-{n}x | {text}"
        for n, text in enumerate(LOG, 7)
    ]
    assert bare(lines) == LOG


def test_blanks_at_the_end_of_an_empty_line_may_be_gone() -> None:
    assert bare([f"> {text}".rstrip() for text in LOG]) == LOG


def test_layers_come_off_one_after_the_other() -> None:
    quoted = [f"> {text}" for text in LOG]
    in_json = [json.dumps({"when": n, "what": text}) for n, text in enumerate(quoted)]
    assert bare([f"web-{n} :: {text}" for n, text in enumerate(in_json)]) == LOG


@pytest.mark.parametrize(
    "lines",
    [
        LOG,
        [f"vllm-1  | {text}" for text in LOG],  # a form that is read as it is
        [f"(Worker_TP{n} pid={n}) {text}" for n, text in enumerate(LOG)],
        [f"mine: {text}" if ".py:" in text and "INFO" in text else text for text in LOG],
        ['INFO:     1.2.3.4:5 - "GET /(EngineCore pid=9) ERROR 02-20 21:35:07 [core.py:944] x HTTP/1.1" 404'] * 9,
        ["prompt: 'a (EngineCore pid=9) ERROR 02-20 21:35:07 [core.py:944] x"],
        [],
        [""],
    ],
)  # fmt: skip
def test_where_the_engine_begins_its_lines_nothing_is_learned(lines: list[str]) -> None:
    raw = "".join(f"{text}\n" for text in lines).encode()
    assert not peel.learn(raw, [GRAMMAR]).around or lines[:1] == lines[1:2] != []


def test_the_header_of_another_engine_is_no_carrier() -> None:
    assert not peel.learn(DIES, [GRAMMAR, SGLANG]).around


def test_a_line_that_was_broken_is_one_again_and_stands_where_it_began() -> None:
    wrapped = [text[at : at + 80] for text in LOG for at in range(0, max(len(text), 1), 80)]
    raw = "".join(f"{text}\n" for text in wrapped).encode()
    peeled = Peeled(peel.learn(raw, [GRAMMAR]))
    assert b"".join(peeled.whole([raw])).decode().splitlines() == LOG
    starts = [wrapped.index(text[:80]) + 1 for text in LOG]
    assert [peeled.line_of(number) for number in range(1, len(LOG) + 1)] == starts


def test_a_line_that_was_folded_between_words_is_one_again() -> None:
    long = " ".join(
        [LOG[1], "since", *(f"its device {n} is held by another process of somebody else," for n in range(8))]
    )
    folded = ["", *textwrap.wrap(long, 80), *LOG[2:4], *textwrap.wrap(f"{LOG[6]} and for {long}", 80)]
    assert bare(folded) == ["", long, *LOG[2:4], f"{LOG[6]} and for {long}"]


def test_lines_of_one_record_stand_where_it_stands() -> None:
    raw = (json.dumps({"id": 4, "output": "\n".join(LOG)}) + "\n").encode()
    peeled = Peeled(peel.learn(raw, [GRAMMAR]))
    assert b"".join(peeled.whole([raw])).decode().splitlines() == LOG
    assert {peeled.line_of(number) for number in range(1, len(LOG) + 1)} == {1}


def test_a_log_that_grows_is_read_by_its_whole_lines() -> None:
    raw = "".join(f"> {text}\n" for text in LOG).encode()
    peeled = Peeled(peel.learn(raw, [GRAMMAR]))
    pieces = [peeled.feed(raw[at : at + 50]) for at in range(0, len(raw), 50)]
    assert b"".join(pieces).decode().splitlines() == LOG
    assert peeled.line_of(4) == 4


def test_without_a_carrier_the_bytes_pass_as_they_are() -> None:
    peeled = Peeled(peel.Wrapping())
    assert b"".join(peeled.whole([b"\xff\0x"])) == peeled.feed(b"\xff\0x") == b"\xff\0x"


def test_a_word_before_an_exception_that_is_listed_is_no_prefix() -> None:
    listed = [*LOG[2:], "- ImportError: one", "- OSError: another", "E       ImportError: a test quotes it"]
    stamped = [f"2025-11-26T02:42:02.249685{n}Z {text}" for n, text in enumerate(listed)]
    assert bare(stamped) == stamped
