"""One raw line, in every dress a launcher gives it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.diagnosis.lines import LONGEST, Line, cut, parse, parse_all, read
from orchestrator.engines.vllm.log.grammar import GRAMMAR


def shape(line: Line) -> tuple[str | None, int | None, str | None, str | None, str]:
    return line.process, line.pid, line.level, line.file, line.message


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"(Worker_TP4 pid=7) ERROR 02-20 21:35:07 [core.py:783] no", ("Worker_TP4", 7, "ERROR", "core.py:783", "no")),
        (b"(Worker pid=7) (Worker_TP1 pid=7) INFO 02-20 21:35:07 [a.py:1] x", ("Worker_TP1", 7, "INFO", "a.py:1", "x")),
        (
            b"(EngineCore_DP0 pid=8) (RayWorkerWrapper pid=9, ip=10.0.0.8) ERROR 07-23 00:28:33 [worker_base.py:309] x",
            ("RayWorkerWrapper", 9, "ERROR", "worker_base.py:309", "x"),
        ),
        (b"(raylet, ip=10.0.0.4) A worker died", ("raylet", None, None, None, "A worker died")),
        (b"(VllmWorker rank=5 pid=86) INFO 06-22 14:45:12 [a.py:1] x", ("VllmWorker rank=5", 86, "INFO", "a.py:1", "x")),
        (b"INFO 02-19 11:20:05 config.py:1052] ray", (None, None, "INFO", "config.py:1052", "ray")),
        (b"INFO 02-19 11:20:05 [v1/executor/abstract.py:55] x", (None, None, "INFO", "v1/executor/abstract.py:55", "x")),
        (b"(EngineCore pid=8) Traceback (most recent call last):", ("EngineCore", 8, None, None, "Traceback (most recent call last):")),
        (b'  File "a.py", line 3, in f', (None, None, None, None, '  File "a.py", line 3, in f')),
        (b"[rank3]: RuntimeError: x", ("rank3", None, None, None, "RuntimeError: x")),
        (b"[rank0]:[W0320 14:14:19.2 x.cpp:1] Warning", ("rank0", None, "WARNING", "x.cpp:1", "Warning")),
        (b"[rank3]:[E220 21:35:07.123 PG.cpp:632] [Rank 3] caught", ("rank3", None, "ERROR", "PG.cpp:632", "[Rank 3] caught")),
        (b"E0220 21:35:07.1 12345 cuda.cc:12] no", (None, None, "ERROR", "cuda.cc:12", "no")),
        (b"node-a:116:317 [1] init.cc:1041 NCCL WARN x", (None, 116, None, None, "init.cc:1041 NCCL WARN x")),
        (b"(W pid=116) node-a:116:317 [1] NCCL INFO x", ("W", 116, None, None, "NCCL INFO x")),
        (b"[2026-02-20 21:35:07] a.b:116:317 [-1] NCCL WARN x", (None, 116, None, None, "NCCL WARN x")),
        (b"(autoscaler +1m7s) Error: none", ("autoscaler", None, None, None, "Error: none")),
        (b"(raylet, ip=10.0.0.2) killed", ("raylet", None, None, None, "killed")),
        (b"[2026-02-20 21:35:07,1 E 12 34] (raylet) n.cc:1: killed", ("raylet", 12, "ERROR", "n.cc:1", "killed")),
        (b"2026-02-20 21:35:07,123\tERROR w.py:4 -- no", (None, None, "ERROR", "w.py:4", "no")),
        (b"Feb 20 21:35:07 node-a kernel: [1.5] Out of memory", (None, None, None, None, "Out of memory")),
        (b"[12345.678901] Out of memory", (None, None, None, None, "Out of memory")),
        (b"[Fri Feb 20 21:35:07 2026] NVRM: Xid", (None, None, None, None, "NVRM: Xid")),
        (b'{"log":"(A pid=1) INFO 01-02 15:23:56 [a.py:1] x\\n","stream":"stderr","time":"t"}', ("A", 1, "INFO", "a.py:1", "x")),
        (b'{"level": "warn", "msg": "x", "file": "a.py"}', (None, None, "WARNING", "a.py", "x")),
        (b'{"a": 1}', (None, None, None, None, '{"a": 1}')),
        (b'{"broken', (None, None, None, None, '{"broken')),
        (b"2026-01-02T15:23:56.002010518Z (A pid=1) INFO 01-02 15:23:56 [a.py:1] x", ("A", 1, "INFO", "a.py:1", "x")),
        (b"2026-01-02T15:23:56.002+00:00 stderr F (A pid=1) x", ("A", 1, None, None, "x")),
        (b"vllm-1  | (A pid=1) INFO 01-02 15:23:56 [a.py:1]   x", ("A", 1, "INFO", "a.py:1", "  x")),
        (b"Feb 08 15:19:16 node-a vllm[43]: (A pid=1) x", ("A", 1, None, None, "x")),
        (b"[pod/vllm-0/server] (A pid=1) x", ("A", 1, None, None, "x")),
        (
            b"\x1b[0;36m(A pid=7)\x1b[0;0m \x1b[31mERROR\x1b[0m \x1b[90m05-14 00:39:47\x1b[0m \x1b[90m[a.py:3]\x1b[0m no\r",
            ("A", 7, "ERROR", "a.py:3", "no"),
        ),
        (b'time="2026-02-20T21:35:07Z" level=error msg="(A pid=1) INFO 02-20 21:35:07 [a.py:1] say \\"x\\"" source=vllm', ("A", 1, "INFO", "a.py:1", 'say "x"')),
        (b'time="2026-02-20T21:35:07Z" level=error msg="a \\x path"', (None, None, None, None, "a \\x path")),
        (b'{"timestamp": "t", "severity": "ERR", "event": "x", "logger": "vllm.engine"}', (None, None, "ERROR", "vllm.engine", "x")),
        (b'{"level": "fatal", "message": "x", "process_name": "EngineCore"}', ("EngineCore", None, "CRITICAL", "", "x")),
        (b'{"msg": "x"}', (None, None, None, "", "x")),
        (b'{"log": "x", "msg": "of a logger, not of docker"}', (None, None, None, "", "of a logger, not of docker")),
        (b"node-a pod-b | 2026-01-02T15:23:56Z (A pid=1) x", (None, None, None, None, "node-a pod-b | 2026-01-02T15:23:56Z (A pid=1) x")),
        (b"mine: INFO 02-19 11:20:05 [config.py:1052] x", (None, None, "INFO", "config.py:1052", "x")),
        (b"a  0%|    \ra 50%|    \ra 99%| done", (None, None, None, None, "a 99%| done")),
        (b"\xff\xfe bad", (None, None, None, None, "\ufffd\ufffd bad")),
        (b"", (None, None, None, None, "")),
    ],
)  # fmt: skip
def test_a_line(raw: bytes, expected: tuple[object, ...]) -> None:
    assert shape(parse(raw, 5, GRAMMAR)) == expected
    assert parse(raw, 5, GRAMMAR).number == 5


def test_the_time_is_kept_as_printed() -> None:
    assert parse(b"INFO 02-19 11:20:05 [a.py:1] x", 1, GRAMMAR).time == "02-19 11:20:05"


def test_two_processes_in_one_line() -> None:
    raw = b"(Worker_TP2 pid=6) ERROR 10-15 02:09:24 [m.py:783]     self.at(Worker_TP0 pid=3) ERROR 10-15 02:09:24 [m.py:764] Bad: x"
    first, second = parse_all(raw, 74, GRAMMAR)
    assert shape(first) == ("Worker_TP2", 6, "ERROR", "m.py:783", "    self.at")
    assert shape(second) == ("Worker_TP0", 3, "ERROR", "m.py:764", "Bad: x")
    assert first.number == second.number == 74


def test_what_stands_before_a_carriage_return_counts_unless_it_is_progress() -> None:
    found = [line.message for line in parse_all(b"RuntimeError: x\rLoading  3%| \rlast", 1, GRAMMAR)]
    assert found == ["RuntimeError: x", "last"]


@pytest.mark.parametrize(
    "carrier",
    [
        b"2026-01-02T15:23:56.002+00:00 stdout P ",
        b"2026-01-02T15:23:56.002+00:00 stderr P ",
        b"vllm-1  | " + b"x" * 16_000,
        b"vllm-1  | 2026-01-02T15:23:56.002+00:00 stdout P ",
    ],
)
def test_a_carrier_says_that_it_broke_a_line_off(carrier: bytes) -> None:
    assert parse(carrier + b"(A pid=1) half a", 1, GRAMMAR).broken


@pytest.mark.parametrize(
    "whole", [b"2026-01-02T15:23:56.002+00:00 stderr F x", b"vllm-1  | x", b"x" * 20_000, b"a stdout P b"]
)
def test_a_line_that_nothing_broke_off_is_whole(whole: bytes) -> None:
    assert not parse(whole, 1, GRAMMAR).broken


def of_docker(log: str, stream: str = "stdout") -> bytes:
    return json.dumps({"log": log, "stream": stream, "time": "t"}).encode()


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_docker_breaks_lines_off_and_says_so_by_their_missing_end(stream: str) -> None:
    half, rest = of_docker("  two words", stream), of_docker("and the rest \r\n", stream)
    assert [
        (line.message, line.broken) for line in (*parse_all(half, 1, GRAMMAR), *parse_all(rest, 2, GRAMMAR))
    ] == [
        ("  two words", True),
        ("and the rest", False),
    ]


@pytest.mark.parametrize(
    ("raw", "dress"),
    [
        (b"INFO 02-20 21:35:07 [a.py:1] x", ""),
        (b"ours: INFO 02-20 21:35:07 [a.py:1] x", "ours: "),
        (b"vllm-1  | x", "compose "),
        (b"vllm-1  | 2026-01-02T15:23:56.002+00:00 stderr F x", "compose docker "),
        (b'time="t" level=info msg="vllm-1  | x"', "logfmt compose "),
        (of_docker("ours: INFO 02-20 21:35:07 [a.py:1] x\n"), "docker-json ours: "),
        (b'{"levelname": "INFO", "msg": "x", "name": "vllm", "extra": 1}', "json msg,levelname,name "),
        (of_docker('{"msg": "x"}\n'), "docker-json json msg "),
        (b"[2026-02-20 21:35:07,1 E 12 34] (raylet) n.cc:1: killed", ""),
    ],
)
def test_what_a_record_came_in_is_the_same_for_all_of_a_log(raw: bytes, dress: str) -> None:
    assert parse(raw, 1, GRAMMAR).dress == dress


def test_a_record_within_another_ones_line_has_no_dress() -> None:
    glued = b"vllm-1  | (Worker pid=6) half a(V pid=3) ERROR 10-15 02:09:24 [m.py:7] x"
    assert [line.dress for line in parse_all(glued, 1, GRAMMAR)] == ["compose ", None]


def test_a_logger_that_writes_json_says_when() -> None:
    both = {"msg": "x", "asctime": "2026-02-20 21:35:07", "timestamp": "17"}
    assert parse(json.dumps(both).encode(), 1, GRAMMAR).time == "2026-02-20 21:35:07"
    assert parse(b'{"msg": "x", "timestamp": "17"}', 1, GRAMMAR).time == "17"
    assert parse(b'{"msg": "x"}', 1, GRAMMAR).time == ""


SECOND = "(V pid=3) ERROR 10-15 02:09:24 [m.py:7] forged"


@pytest.mark.parametrize(
    "first",
    [
        "(APIServer pid=6) INFO 10-15 02:09:24 [l.py:1] a client sent ",
        'half a quotation "of ',
        "half a quotation 'of ",
        "INFO:     a client asks for ",
        "WARNING 10-15 02:09:24 [l.py:1] asked for ",
    ],
)
def test_what_quotes_or_repeats_what_clients_send_is_no_line_of_two(first: str) -> None:
    (line,) = parse_all((first + SECOND).encode(), 1, GRAMMAR)
    assert line.message.endswith(SECOND)


@pytest.mark.parametrize(
    "first", ["bare output ", "(EngineCore_DP0 pid=6) half a", "'a whole' quotation", '"a whole" quotation']
)
def test_what_another_process_wrote_into_the_middle_is_its_own(first: str) -> None:
    assert [line.process for line in parse_all((first + SECOND).encode(), 1, GRAMMAR)][-1] == "V"


def test_three_processes_in_one_line() -> None:
    raw = (
        b"(W pid=6) a"
        + SECOND.encode()
        + b"(APIServer pid=1) INFO 10-15 02:09:24 [l.py:1] b"
        + SECOND.encode()
    )
    assert [(line.process, line.message) for line in parse_all(raw.replace(b"(W", b"(Worker"), 1, GRAMMAR)][
        :2
    ] == [
        ("Worker", "a"),
        ("V", "forged" + raw.decode()[raw.decode().index("(APIServer") :]),
    ]


def test_an_api_server_speaks_for_nobody_else() -> None:
    raw = b"(APIServer pid=6) (Worker_TP0 pid=3) ERROR 10-15 02:09:24 [m.py:7] forged"
    assert parse(raw, 1, GRAMMAR).process == "APIServer"


@pytest.mark.parametrize(
    "raw",
    [
        b"(APIServer pid=6) INFO 02-20 21:35:07 [protocol.py:39] whatever it is",
        b"Received request cmpl-1: prompt: 'x'",
        b'(APIServer pid=6) INFO:     10.1.3.4:51234 - "GET /ValueError HTTP/1.1" 404 Not Found',
        b"2026-02-20 21:35:07,123\tINFO middleware.py:4 -- whatever it is",
        of_docker("INFO 02-20 21:35:07 [protocol.py:39] whatever it is\n"),
        b'{"level": "info", "filename": "protocol.py", "msg": "whatever it is"}',
    ],
)
def test_what_a_client_may_have_worded_is_hearsay_in_every_dress(raw: bytes) -> None:
    assert parse(raw, 1, GRAMMAR).hearsay


@pytest.mark.parametrize(
    "raw",
    [
        b"(APIServer pid=6) INFO 02-20 21:35:07 [launcher.py:39] Available routes are:",
        b"(APIServer pid=6) ERROR 02-20 21:35:07 [protocol.py:39] of the server itself",
        b"2026-02-20 21:35:07,123\tERROR middleware.py:4 -- of the server itself",
        b'{"level": "error", "filename": "protocol.py", "msg": "of the server itself"}',
        b"ValueError: x",
    ],
)
def test_what_the_server_says_itself_is_none(raw: bytes) -> None:
    assert not parse(raw, 1, GRAMMAR).hearsay


def test_blank_lines_of_a_terminal_are_one_empty_line() -> None:
    assert [line.message for line in parse_all(b" \r \r", 1, GRAMMAR)] == [""]


def test_a_quoted_source_line_is_no_prefix() -> None:
    raw = b'    print("(x pid=1) INFO")'
    assert parse(raw, 1, GRAMMAR).message == '    print("(x pid=1) INFO")'


def test_lines_are_numbered_as_in_the_file() -> None:
    assert [line.number for line in read([b"a", b"", b"c"], GRAMMAR)] == [1, 2, 3]


@given(st.lists(st.binary(max_size=40)), st.integers(1, 7))
def test_chunks_do_not_matter(lines: list[bytes], size: int) -> None:
    lines = [line.replace(b"\n", b"").replace(b"\0", b"") for line in lines]
    whole = b"".join(line + b"\n" for line in lines)
    chunks = [whole[start : start + size] for start in range(0, len(whole), size)]
    assert list(cut(chunks)) == lines


def test_a_line_without_end_is_bounded() -> None:
    (line,) = cut([b"x" * 4096] * 100)
    assert len(line) == LONGEST


def test_the_nul_bytes_of_a_truncated_log_are_dropped() -> None:
    assert list(cut([b"\0" * 100_000] * 3 + [b"\0INFO\nlast"])) == [b"INFO", b"last"]


@given(st.binary(max_size=300))
def test_any_bytes_make_a_line(raw: bytes) -> None:
    assert parse_all(raw, 1, GRAMMAR)


def test_a_traceback_inside_a_json_record_is_read_line_by_line() -> None:
    record = {
        "levelname": "ERROR",
        "message": "EngineCore failed to start.",
        "exc_info": "Traceback\n  File\nBad: x",
    }
    found = parse_all(json.dumps(record).encode(), 9, GRAMMAR)
    assert [(line.number, line.level, line.message) for line in found] == [
        (9, "ERROR", text) for text in ("EngineCore failed to start.", "Traceback", "  File", "Bad: x")
    ]
