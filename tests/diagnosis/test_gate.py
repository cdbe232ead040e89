"""Where in a block of a log something may be told, by words of the expressions."""

from __future__ import annotations

import pytest

from orchestrator.diagnosis import gate
from orchestrator.diagnosis.gate import Gate, Hit


@pytest.fixture(params=["hyperscan", "word by word"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "word by word":
        monkeypatch.setattr(gate, "hyperscan", None)
    elif gate.hyperscan is None:
        pytest.skip("hyperscan does not run here")


def words_at(hits: list[Hit], block: bytes) -> list[bytes]:
    """The lines in which the hits lie."""
    return [block[block.rfind(b"\n", 0, hit) + 1 : block.find(b"\n", hit)] for hit, _ in hits]


def test_every_place_is_found_in_order_and_inside_its_word() -> None:
    block = b"a NCCL WARN b\nnothing\nCUDA error: c\nNCCL WARN d\n"
    hits = Gate(["CUDA error: .*", "NCCL WARN"]).hits(block)
    assert hits == sorted(hits)
    assert words_at(hits, block) == [b"a NCCL WARN b", b"CUDA error: c", b"NCCL WARN d"]


def test_what_lies_before_the_start_is_not_looked_at_again() -> None:
    block = b"first NCCL WARN\nsecond NCCL WARN\n"
    found = Gate(["NCCL WARN"])
    assert words_at(found.hits(block, block.index(b"\n")), block) == [b"second NCCL WARN"]
    assert found.hits(block, len(block)) == []
    assert found.hits(b"") == []


def test_a_word_within_another_one_is_looked_for_alone() -> None:
    assert Gate(["NCCL WARN failed", "NCCL WARN"]).words == (b"NCCL WARN",)
    assert Gate(["one word|another", "one word"]).words == (b"one word", b"another")


@pytest.mark.parametrize(
    ("line", "fitting"),
    [
        (b"gpu7 NCCL WARN Call failed", ["^NCCL WARN .*failed$", "NCCL (?:INFO|WARN) "]),
        (b"gpu7 NCCL WARN Call", ["NCCL (?:INFO|WARN) "]),
        (b"gpu7 NCCL of old failed", []),
        (b"Killed by nobody", ["^Killed$|never said"]),
        (b"level=info msg=\"NCCL \\\"WARN\\\"\"", ["NCCL (?:INFO|WARN) "]),  # spelt otherwise: not asked
    ],
)  # fmt: skip
def test_a_line_is_asked_for_the_expressions_that_need_its_words_without_their_anchors(
    line: bytes, fitting: list[str]
) -> None:
    found = Gate(["^NCCL WARN .*failed$", "NCCL (?:INFO|WARN) ", "^Killed$|never said"])
    assert sorted(found.fitting(line, [word for _, word in found.hits(line)])) == sorted(fitting)


def test_of_a_word_that_json_spells_otherwise_its_longest_part_is_looked_for() -> None:
    found = Gate(['revision": "[0-9a-f]{8}', "Killed"])
    assert found.plain
    for line in (b'{"message": "revision\\": \\"0a1b2c3d\\""}\n', b'revision": "0a1b2c3d"\n'):
        assert [word for _, word in found.hits(line)] == [0]
    assert found.fitting(b'revision": "0a1b2c3d"', [0]) and not found.fitting(b"revision=0a1b2c3d", [0])
    assert not Gate(['a"b"c"d"e']).plain


def test_a_gate_without_expressions_lets_nothing_through() -> None:
    assert Gate([]).hits(b"NCCL WARN\n") == []


@pytest.mark.parametrize("pattern", [r"\d+", "abc", "(?:long enough|no)", "(?i)long enough"])
def test_an_expression_without_a_word_of_its_own_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="fits lines without any word of 4 letters"):
        Gate([pattern])


def test_a_narrowed_search_finds_what_a_frequent_word_tells_with_what_its_expressions_need_besides() -> None:
    whole = Gate(["NCCL WARN .*failed", "NCCL WARN transport", "Killed", "no (?:pieces|NCCL) here"])
    frequent = [at for at, word in enumerate(whole._needed) if word == "NCCL WARN "]
    narrowed = whole.narrowed(frequent, {"NCCL WARN transport"})
    if gate.hyperscan is None:
        assert narrowed is None
        return
    assert narrowed is not None
    block = b"NCCL WARN a\nNCCL WARN Call failed\nNCCL WARN\nfailed\nNCCL WARN transport\nKilled\n"
    assert words_at(narrowed.hits(block), block) == [
        b"NCCL WARN Call failed",
        b"NCCL WARN transport",
        b"Killed",
    ]
    assert words_at(narrowed.hits(block, block.index(b"Killed") - 1), block) == [b"Killed"]


def test_a_word_that_is_left_out_is_found_where_the_whole_search_finds_it() -> None:
    whole = Gate(["Capturing CUDA graph", "Killed"])
    block = b"Capturing CUDA graphs\nKilled\nmore: Capturing CUDA graph\n"
    narrowed = whole.narrowed([], [], left_out=[0])
    if gate.hyperscan is None:
        assert narrowed is None
        return
    assert narrowed is not None
    assert narrowed.hits(block) == [hit for hit in whole.hits(block) if hit[1] == 1]
    for start in (0, 9):
        found = [*narrowed.hits(block, start), *whole.places(0, block, start)]
        assert sorted(found) == whole.hits(block, start)
