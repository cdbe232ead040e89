"""A log is read by its telling lines alone, and the outcome is that of reading every line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.diagnosis import gate, lines
from orchestrator.diagnosis.engine import Diagnosis, diagnose, diagnose_log
from orchestrator.diagnosis.gate import Gate
from orchestrator.diagnosis.launches import Following
from orchestrator.diagnosis.remarks import Watched
from orchestrator.diagnosis.scan import Scanner
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches.known import Known
from orchestrator.patches.literals import words_of
from tests.diagnosis.labels import CASES, log, named
from tests.diagnosis.test_cases import PATCHES

NOWHERE = Known()
WATCHED = Watched.of(PATCHES)
BENIGN = (
    b"(APIServer pid=7) INFO 02-20 21:35:07 [loggers.py:127] Engine 000: Avg prompt throughput: 0.0 tokens/s, GPU KV"
    b" cache usage: 0.4%\n",
    b'INFO:     10.1.3.4:51234 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n',
    b"\n",
)
LOGS = {case.id: log(case) for case in CASES[::15]}
"""A few of each kind: each is read several times."""


KIMI = log(named("mla-fp8kv-kimi-k25-tp8"))


def whole(log: bytes) -> Diagnosis:
    return diagnose(lines.cut([log]), grammar=GRAMMAR, known=NOWHERE, patches=PATCHES)


def scanned(log: bytes, sizes: list[int]) -> Diagnosis:
    chunks, start = [], 0
    while start < len(log):
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(log[start : start + size])
        start += size
    return diagnose_log(chunks, grammar=GRAMMAR, known=NOWHERE, patches=PATCHES)


@pytest.mark.parametrize("name", sorted(LOGS))
def test_a_labelled_log_comes_to_the_same(name: str) -> None:
    log = LOGS[name]
    assert scanned(log, [1 << 20]) == scanned(log, [1009, 1, 64]) == whole(log)


@pytest.mark.parametrize("name", sorted(LOGS)[::5])
def test_benign_lines_in_front_and_behind_change_line_numbers_alone(name: str) -> None:
    log = LOGS[name].rstrip(b"\n") + b"\n"
    # what follows an open traceback within some lines still belongs to it
    padded = BENIGN[1] * 700 + log + BENIGN[1] * 700
    found, wanted = scanned(padded, [4096]), whole(log)
    assert found == whole(padded)
    if wanted.root_cause and found.root_cause and wanted.verdict in ("fault", "unknown_fault"):
        assert found.root_cause.text == wanted.root_cause.text
        assert found.root_cause.line == wanted.root_cause.line + 700


@settings(max_examples=25)
@given(st.data())
def test_mixed_logs_cut_anywhere(data: st.DataObject) -> None:
    parts = data.draw(
        st.lists(st.sampled_from(sorted(LOGS)) | st.integers(0, 2), min_size=1, max_size=3), label="parts"
    )
    log = b"".join(LOGS[part] if isinstance(part, str) else BENIGN[part] * 40 for part in parts)
    sizes = data.draw(st.lists(st.integers(1, 5000), min_size=1, max_size=4), label="sizes")
    assert scanned(log, sizes) == whole(log)


@settings(max_examples=25)
@given(st.binary(max_size=600), st.integers(1, 50))
def test_any_bytes(log: bytes, size: int) -> None:
    assert scanned(log, [size]) == whole(log)


@settings(max_examples=30)
@given(st.lists(st.sampled_from([*KIMI.split(b"\n")[:160], b"", b"\x1b[31mx", b"\0"])))
def test_lines_in_any_order(chosen: list[bytes]) -> None:
    log = b"\n".join(chosen)
    assert scanned(log, [777]) == whole(log)


def test_a_line_without_an_end_does_not_fill_the_memory() -> None:
    scanner = Scanner(GRAMMAR, WATCHED)
    for _ in range(64):
        scanner.feed(b"x" * (1 << 16))
    assert len(scanner._held) <= lines.LONGEST
    scanner.feed(b"\nTraceback (most recent call last):\nValueError: after it\n")
    scanner.close()
    assert [seen.incident.root.line for seen in scanner.following.so_far().seen] == [3]


def test_phases_that_pass_within_one_chunk_are_all_told() -> None:
    scanner = Scanner(GRAMMAR, WATCHED)
    log = b"INFO 02-20 21:35:07 [a.py:1] Starting to load model x\n" + BENIGN[1] * 40
    log += b"INFO 02-20 21:35:09 [a.py:1] Loading weights took 3 seconds\n"
    assert [phase.name for phase in scanner.feed(log)] == ["starting workers", "profiling"]
    assert [phase.name for phase in scanner.feed(BENIGN[1])] == ["profiling"]


def test_without_hyperscan_the_same_places_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = ["NCCL WARN .*: no socket", "one word|another", r"(?P<a>\d+) tokens"]
    block = b"another\n" * 3 + b"NCCL WARN x: no socket\n12 tokens, one word\n" + b"nothing\n"
    fast = Gate(patterns)
    monkeypatch.setattr(gate, "hyperscan", None)
    slow = Gate(patterns)
    for start in (0, 9):
        found = [{block.count(b"\n", 0, hit) for hit in each.hits(block, start)} for each in (fast, slow)]
        assert (
            found[0]
            == found[1]
            == ({0, 1, 2, 3, 4} if start == 0 else {2, 3, 4} | ({1} if start < 9 else set()))
        )


@pytest.mark.parametrize("pattern", WATCHED.patterns)
def test_every_line_that_a_patch_looks_for_holds_a_word_of_the_gate(pattern: str) -> None:
    assert Gate([pattern]).words


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("NCCL WARN .*failed", ("NCCL WARN ",)),
        ("one|two", ("one", "two")),
        ("(?:one|two) and more", (" and more",)),
        (r"a+b?", ("a",)),
        ("(?:word)?", ()),
        ("[Ll]oading (?:shards|x)", ("oading ",)),
        ("(?i)word", ()),
        ("x(?!never)yes", ("xyes",)),
    ],
)
def test_words_without_which_nothing_fits(pattern: str, words: tuple[str, ...]) -> None:
    assert words_of(pattern) == words


@settings(max_examples=100)
@given(st.data())
def test_a_text_that_fits_holds_one_of_the_words(data: st.DataObject) -> None:
    pattern = data.draw(
        st.sampled_from((*WATCHED.patterns, r"Loading (?:a|b) \d+", "x(?:yy|zz)+w")), label="pattern"
    )
    text = data.draw(st.from_regex(pattern), label="text")
    assert any(word in text for word in words_of(pattern))


def test_the_order_of_completion_is_that_of_reading_every_line() -> None:
    log = KIMI + BENIGN[0] * 1200 + KIMI
    every, told = Following(GRAMMAR, WATCHED), Scanner(GRAMMAR, WATCHED)
    for line in lines.read(lines.cut([log]), GRAMMAR):
        every.feed(line)
    told.feed(log)
    told.close()
    assert [seen.incident for seen in every.so_far().seen] == [
        seen.incident for seen in told.following.so_far().seen
    ]
