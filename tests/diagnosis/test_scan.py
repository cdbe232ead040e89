"""A log is read by its telling lines alone, and the outcome is that of reading every line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.diagnosis import gate, lines, search
from orchestrator.diagnosis.engine import Diagnosis, diagnose, diagnose_log
from orchestrator.diagnosis.following import Following, last_launch
from orchestrator.diagnosis.gate import Gate
from orchestrator.diagnosis.lines import read
from orchestrator.diagnosis.remarks import Watched
from orchestrator.diagnosis.scan import Scanner, scan
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches.known import Known
from orchestrator.patches.literals import words_of
from tests.diagnosis.labels import CASES, log, named
from tests.diagnosis.test_cases import PATCHES
from tests.of_each import of_each

NOWHERE = Known()
WATCHED = Watched.of(PATCHES, GRAMMAR.kind)
BENIGN = (
    b"(APIServer pid=7) INFO 02-20 21:35:07 [loggers.py:127] Engine 000: Avg prompt throughput: 0.0 tokens/s, GPU KV"
    b" cache usage: 0.4%\n",
    b'INFO:     10.1.3.4:51234 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n',
    b"\n",
)
LOGS = {case.id: log(case) for case in CASES[::30]}
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
    assert [folded.incident.root.line for folded in scanner.following.so_far().incidents] == [3]


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
        found = [{block.count(b"\n", 0, hit) for hit, _ in each.hits(block, start)} for each in (fast, slow)]
        assert (
            found[0]
            == found[1]
            == ({0, 1, 2, 3, 4} if start == 0 else {2, 3, 4} | ({1} if start < 9 else set()))
        )


@of_each(WATCHED.patterns)
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
    assert [folded.incident for folded in every.so_far().incidents] == [
        folded.incident for folded in told.following.so_far().incidents
    ]


HEAD = b"(Worker_TP4 pid=74) ERROR 02-20 21:35:07 [multiproc_executor.py:783] "
BEGUN = b"(APIServer pid=7) INFO 02-20 21:34:40 [api_server.py:1] vLLM API server version 0.16.0\n"
LOADED = (
    b"(Worker_TP0 pid=70) INFO 02-20 21:35:09 [default_loader.py:293] Loading weights took 3.21 seconds\n"
)
UP = b"INFO:     Application startup complete.\n"
ASKED = b"(APIServer pid=7) INFO 02-20 21:35:07 [logger.py:39] Received request chatcmpl-1: prompt: 'x'\n"


def failure(text: bytes, *, head: bytes = HEAD, above: int = 0) -> bytes:
    """A failure that a process ends by, with so many lines between its heading and its traceback."""
    trace = [b"Traceback (most recent call last):", b'  File "/a/b.py", line 3, in f', b"    g()", text]
    return b"".join(
        line + b"\n"
        for line in (
            head + b"WorkerProc failed to start.",
            *[b"a line of nobody"] * above,
            *(head + each for each in trace),
        )
    )


def progress(part: int, of: bytes = b"Capturing CUDA graphs (decode, FULL)") -> bytes:
    """What two workers and a library print in turn while something is counted."""
    shown = b"%s:  %d%%|###   | %d/67 [00:01<00:12,  9.%dit/s]\n" % (of, part, part, part)
    said = b"gpu7:71:%d [0] NCCL INFO Channel %d via P2P\n" % (part, part)
    return (
        b"(Worker_TP0 pid=70) " + shown + said + b"(Worker_TP%d pid=%d) " % (part % 3, part % 3 + 70) + shown
    )


COUNTING = b"".join(progress(part) for part in range(30))


def detail(text: bytes) -> bytes:
    """A detail of the launch that is told again and again."""
    return (b"(Worker_TP0 pid=70) INFO 02-20 21:35:09 [cuda.py:293] " + text + b"\n" + BENIGN[0]) * 20


BACKEND, OTHER = (detail(b"Using %s backend" % name) for name in (b"FLASH_ATTN", b"FLASHINFER_2 attention"))

SHORT = {
    "a failure among lines that say nothing": BEGUN + BENIGN[0] * 30 + failure(b"ValueError: torn") + BENIGN[1] * 30,
    "its heading stands as far above as counts": BENIGN[0] * 9 + failure(b"ValueError: torn", above=7) + BENIGN[1] * 9,
    "two that are alike and one that is not": b"".join(failure(text) + BENIGN[0] * 3 for text in (b"ValueError: 1", b"ValueError: 2", b"KeyError: 3")),
    "a message of several lines": failure(b"ValueError: torn") + b"its second line\nits third\n" + BENIGN[0] * 9,
    "no end of the last line": BENIGN[0] * 3 + failure(b"ValueError: torn")[:-1],
    "colours": BENIGN[0] * 3 + failure(b"\x1b[31mValueError: torn\x1b[0m") + b"\x1b[0m\n" * 3,
    "a hole in the file": BENIGN[0] * 3 + b"\0" * 500 + failure(b"ValueError: torn") + b"\0\0" + BENIGN[0],
    "phases": BEGUN + BENIGN[0] * 20 + LOADED + BENIGN[0] * 20 + UP + BENIGN[1] * 20,
    "clients of a server that came up": BEGUN + LOADED + UP + BENIGN[1] * 9 + ASKED + BENIGN[1] * 9 + failure(b"ValueError: torn"),
    "a client that writes as a failing rank does": BEGUN + UP + ASKED + failure(b"ValueError: torn", head=b""),
    "clients, and the beginning is cut off": BENIGN[1] * 20 + failure(b"ValueError: torn", head=b""),
    "two launches": BEGUN + failure(b"ValueError: 1") + BENIGN[0] * 20 + BEGUN + LOADED,
    "a line that is too long": BENIGN[0] + b"x" * (lines.LONGEST + 9) + b"\n" + failure(b"ValueError: torn"),
    "lines in JSON": b"".join(b'{"log":"%s\\n"}\n' % line for line in failure(b"ValueError: torn").replace(b'"', b'\\"').splitlines()),
    "progress, and its end": BEGUN + BENIGN[0] * 40 + COUNTING + BENIGN[0] * 20 + UP,
    "progress that goes on": BEGUN + BENIGN[0] * 40 + COUNTING,
    "progress between failures": BEGUN + BENIGN[0] * 40 + COUNTING + failure(b"ValueError: 1") + COUNTING + failure(b"KeyError: 3"),
    "progress of two launches": BEGUN + BENIGN[0] * 40 + COUNTING + failure(b"ValueError: 1") + BENIGN[0] * 20 + BEGUN + BENIGN[1] * 9 + COUNTING,
    "progress that another one follows": BEGUN + BENIGN[0] * 40 + COUNTING + b"".join(progress(part, b"model-0%d-of-9.safetensors" % part) for part in range(20)),
    "progress in other dresses": BEGUN + BENIGN[0] * 40 + COUNTING + b"".join(b"llm-1  | " + line for line in COUNTING.splitlines(True)) + UP,
    "a backend, another, and the first again": BEGUN + BENIGN[0] * 40 + BACKEND + OTHER + BACKEND + OTHER + BENIGN[0] * 40,
    "two backends in one line": BEGUN + BENIGN[0] * 40 + OTHER + detail(b"Using FLASHINFER_2 backend(Worker_TP1 pid=71) INFO 02-20 21:35:09 [cuda.py:9] Using XFORMERS backend") + BENIGN[0] * 40,
    "details of several kinds": BEGUN + BENIGN[0] * 40 + b"".join(detail(b"Using %s data type to store kv cache, compute capability %s" % each) for each in ((b"fp8", b"9.0"), (b"auto", b"12.0"))),
    "a context that is fitted twice": BEGUN + BENIGN[0] * 40 + b"".join(detail(b"Auto-fit max_model_len: reduced from 9000 to %d" % each) for each in (900, 800)) + BENIGN[0] * 40,
    "a client tells a backend": BEGUN + BENIGN[0] * 40 + BACKEND + UP + OTHER,
    "a backend in JSON": (BEGUN + BENIGN[0] * 40 + BACKEND).replace(b'"', b"") + b"".join(b'{"message":"Using FLASH\\u005f%d backend"}\n' % n for n in range(30)),
    "empty lines at the end": failure(b"ValueError: torn") + b"\n" * 30,
}  # fmt: skip


def outcome(following: Following) -> tuple[object, ...]:
    """What was read of the last launch."""
    found = following.so_far()
    folded = [(each.incident, each.processes, each.lines) for each in found.incidents]
    start = found.startup
    return (
        folded,
        found.last_incident,
        start.phase,
        start.reached,
        start.version,
        start.clients,
        start.serves_since,
        (start.attention_backend, start.compute_cap, start.context, dict(start.engine), start.engine_line),
    )


def assert_as_if_every_line_was_read(log: bytes, size: int) -> None:
    """Of a log that comes in pieces of that size."""
    every, scanner = Following(GRAMMAR, WATCHED), Scanner(GRAMMAR, WATCHED)
    for line in lines.read(lines.cut([log]), GRAMMAR):
        every.feed(line)
    for start in range(0, len(log), size):
        scanner.feed(log[start : start + size])
    scanner.close()
    assert outcome(scanner.following) == outcome(every)
    assert scanner.following.so_far().remarks.lines == every.so_far().remarks.lines


@pytest.mark.parametrize("size", [1, 13, 200, 1 << 20])
@pytest.mark.parametrize("name", SHORT)
def test_whatever_the_pieces_in_which_it_comes_it_is_as_if_every_line_had_been_read(
    name: str, size: int
) -> None:
    assert_as_if_every_line_was_read(SHORT[name], size)


@pytest.mark.parametrize("name", SHORT)
def test_so_it_is_where_words_are_frequent(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "FREQUENT", 2)
    noisy = b"".join(progress(part % 9) + line for part, line in enumerate(SHORT[name].splitlines(True)))
    for text in (noisy, SHORT[name]):
        assert_as_if_every_line_was_read(text, 200)


def test_the_last_lines_are_there_with_their_numbers_once_it_was_caught_up() -> None:
    log = b"".join(b"line %d\n" % number for number in range(1, 301))
    for before in (b"", b"x" * 99 + b"\n" + b"y" * (1 << 17) + b"\n"):
        scanner = Scanner(GRAMMAR, WATCHED)
        scanner.feed(before + log + b"half")
        scanner.catch_up()
        tail = [(line.number, line.message) for line in scanner.following.tail]
        skipped = before.count(b"\n")
        assert tail == [(number + skipped, f"line {number}") for number in range(101, 301)]
        scanner.feed(b" a line\n")
        scanner.close()
        assert scanner.following.tail[-1].message == "half a line"


def test_of_a_short_log_the_first_line_is_among_the_last() -> None:
    scanner = Scanner(GRAMMAR, WATCHED)
    scanner.feed(b"first\nsecond")
    scanner.close()
    assert [(line.number, line.message) for line in scanner.following.tail] == [(1, "first"), (2, "second")]


def test_that_something_went_wrong_is_known_once_it_is_over() -> None:
    scanner = Scanner(GRAMMAR, WATCHED)
    scanner.feed(BENIGN[0] * 60)
    assert scanner.completed is False
    scanner.feed(failure(b"ValueError: torn") + BENIGN[0] * 30 + failure(b"KeyError: 3") + BENIGN[0])
    assert scanner.completed is True


def test_more_of_what_a_patch_looks_for_than_is_kept_is_passed_over_until_another_launch_begins() -> None:
    line = b"gpu7:2471:2605 [0] NCCL WARN Cuda failure 'out of memory'\n"
    log = BEGUN + line * 90 + failure(b"ValueError: 1") + BENIGN[0] * 90 + BEGUN + BENIGN[0] * 60 + line * 2
    every, scanner = Following(GRAMMAR, WATCHED), Scanner(GRAMMAR, WATCHED)
    for each in lines.read(lines.cut([log]), GRAMMAR):
        every.feed(each)
    scanner.feed(log)
    scanner.close()
    kept, wanted = scanner.following.so_far().remarks.lines, every.so_far().remarks.lines
    assert kept == wanted
    assert [len(each) for each in kept.values()] == [2] * len(kept)


JSON = b'{"log":"%s\\n","stream":"stderr"}\n'


@pytest.mark.parametrize(
    "lines_in_json",
    [
        [JSON % line for line in (b"step 1", b"Killed", b"step 2")],
        [JSON % b"\\u001b[0;36mTraceback (most \\u001b[0mrecent call last):", JSON % b"ValueError: torn"],
        [JSON % rb"Error: No available node types can fulfill resource request {\"node:10.0.0.1\": 1}"],
        [rb'{"message": "NCCL WARN transport\/nvls.cc:7 NCCL WARN Cuda failure 2 \u0027out of memory\u0027"}' + b"\n"],
        [rb'time="x" level=info msg="[Errno 99] error while attempting to bind on address \"x\""' + b"\n"],
    ],
)  # fmt: skip
def test_of_a_log_in_json_what_says_something_is_read(lines_in_json: list[bytes]) -> None:
    log = (JSON % b"rank 0 is there") * 90 + b"".join(lines_in_json) + (JSON % b"rank 0 is there") * 90
    assert_as_if_every_line_was_read(log, 777)


def test_a_word_that_json_spells_otherwise_is_found_in_json() -> None:
    watched = Watched(['said "no more"'])
    log = (JSON % b"rank 0 is there") * 90 + JSON % rb"it said \"no more\"" + (JSON % b"rank 0 is there") * 90
    scanner = Scanner(GRAMMAR, watched)
    scanner.feed(log)
    scanner.close()
    assert [line.number for line in scanner.following.so_far().remarks.lines[watched.patterns[0]]] == [91]


def test_what_was_seen_often_is_looked_for_again_in_another_phase() -> None:
    survived = [f"open /dev/x{n}: No such device" for n in range(40_000)]
    text = [
        *survived,
        "INFO 02-20 21:34:50 [x.py:1] GPU KV cache size: 7 tokens",
        "open /dev/y: No such device",
    ]
    raw = "\n".join(text).encode() + b"\n"
    (expression,) = (each for each in WATCHED.quiet if "No such device" in each)
    whole = last_launch(read(raw.splitlines(), GRAMMAR), GRAMMAR, WATCHED).remarks.lines[expression]
    assert [line.number for line in whole] == [*range(1, 17), 40_002]
    assert scan([raw], GRAMMAR, WATCHED).remarks.lines[expression] == whole
