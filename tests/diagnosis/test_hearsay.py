"""Nothing that a client of the server can write is evidence, in whatever record it comes back."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from orchestrator.diagnosis import lines
from orchestrator.diagnosis.engine import Diagnosis, diagnose, diagnose_log
from orchestrator.diagnosis.following import last_launch
from orchestrator.diagnosis.hearsay import shows_clients, signs_of_clients, worded_by_a_client
from orchestrator.diagnosis.live import Live
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches.known import Known
from tests.diagnosis.client_forms import (
    ANYWHERE,
    FRONT,
    INFO,
    SERVING,
    name_of,
    printed,
    printed_bare,
    printed_in_one,
    refused,
    request_log,
    several_lines,
    whole_records,
)
from tests.diagnosis.labels import CASES, expected, log, named
from tests.diagnosis.test_cases import PATCHES

NOWHERE = Known()
AS_FOUND = (Phase.explicit, Phase.reuse, Phase.generate)
"""A failing example is small enough as it is: it names a log, a form and a text."""
FAILED = {
    case.name: log(case).decode("utf-8", "replace").replace("\r\n", "\n")
    for case in CASES
    if expected(case)["verdict"] == "fault" and len(log(case)) < 24_000
}
"""True failures, as a client would paste them."""
HEALTHY = {
    case.name: log(case)
    for case in CASES
    if case.folder.name == "healthy" and not log(case).startswith(b"{") and b"\r\n" not in log(case)
}
SERVING_FAULTS = [
    "oom-first-request",
    "illegal-access-first-request",
    "turboquant-first-request",
    "ecc-error-in-service",
]
UP = b"Application startup complete."


def inserted(whole: bytes, at: int, text: str) -> bytes:
    parts = whole.rstrip(b"\n").split(b"\n")
    return b"\n".join([*parts[:at], text.encode("utf-8", "replace"), *parts[at:], b""])


def up_of(whole: bytes) -> int:
    """Lines up to the one that says that the server is up."""
    return whole[: whole.rindex(UP)].count(b"\n") + 1


def judged(whole: bytes) -> Diagnosis:
    found = diagnose_log([whole], grammar=GRAMMAR, known=NOWHERE, patches=PATCHES)
    assert found == diagnose(lines.cut([whole]), grammar=GRAMMAR, known=NOWHERE, patches=PATCHES)
    return found


def said(found: Diagnosis) -> tuple[object, ...]:
    cause = found.root_cause.text if found.root_cause else None
    return found.verdict, found.finding, cause if found.verdict in ("fault", "unknown_fault") else None


@cache
def ever_doomed(whole: bytes) -> bool:
    """Whether a launch was thought to be lost while its log arrived; a log may begin with a launch that was."""
    live, doomed = Live(NOWHERE, PATCHES, GRAMMAR), False
    for start in range(0, len(whole), 1500):
        live.feed(whole[start : start + 1500])
        live.look()
        doomed = doomed or live.doomed
    return doomed


@settings(max_examples=30, deadline=None, phases=AS_FOUND)
@given(st.data())
def test_a_healthy_server_stays_healthy_whatever_clients_write(data: st.DataObject) -> None:
    whole = HEALTHY[data.draw(st.sampled_from(sorted(HEALTHY)), label="log")]
    form = data.draw(st.sampled_from(SERVING), label="form")
    text = FAILED[data.draw(st.sampled_from(sorted(FAILED)), label="text")]
    assume(not whole_records(form, text))
    first = 0 if form in ANYWHERE else up_of(whole)
    at = data.draw(st.integers(first, whole.rstrip(b"\n").count(b"\n") + 1), label="at")
    forged = inserted(whole, at, form(text))
    assert said(judged(forged)) == said(judged(whole)) == ("healthy", None, None)
    assert not ever_doomed(forged) or ever_doomed(whole)


@pytest.mark.parametrize("form", SERVING, ids=name_of)
def test_each_form_in_a_healthy_log(form: Callable[[str], str]) -> None:
    whole = HEALTHY["own-healthy-tp2"]
    for name in ("amx-wants-bf16", "oom-first-request", "cli-kv-dtype-choice"):
        assert said(judged(inserted(whole, up_of(whole), form(FAILED[name])))) == ("healthy", None, None), (
            name
        )


@settings(max_examples=20, deadline=None, phases=AS_FOUND)
@given(st.data())
def test_a_failure_keeps_its_cause_whatever_clients_wrote(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(SERVING_FAULTS), label="log")
    whole = next(log(case) for case in CASES if case.name == name)
    form = data.draw(st.sampled_from(SERVING), label="form")
    text = FAILED[data.draw(st.sampled_from(sorted(FAILED)), label="text")]
    assume(not whole_records(form, text))
    # a server that has ended prints nothing; and nothing may come between the lines of an exception's message
    end = whole.rstrip(b"\n").count(b"\n") + 1
    at = data.draw(
        st.sampled_from([up_of(whole), end]) if form in ANYWHERE else st.just(up_of(whole)), label="at"
    )
    assert said(judged(inserted(whole, at, form(text)))) == said(judged(whole))


@pytest.mark.parametrize("fault", SERVING_FAULTS)
@pytest.mark.parametrize(
    "text",
    [
        "after-graph-capture",  # a crash in nobody's name
        "ecc-error-in-service",  # "INFO:     Shutting down"
        "endpoint-without-packages",  # two tracebacks of a whole program, of which one ends with the log
    ],
)
@pytest.mark.parametrize("form", [printed, printed_bare, printed_in_one], ids=name_of)
def test_a_printed_launch_takes_no_failures_place(fault: str, text: str, form: Callable[[str], str]) -> None:
    whole = next(log(case) for case in CASES if case.name == fault)
    assert said(judged(inserted(whole, up_of(whole), form(FAILED[text])))) == said(judged(whole))


def test_a_crash_tells_why_an_engine_died_that_says_no_more() -> None:
    whole = HEALTHY["own-healthy-tp2"]
    died = "(EngineCore pid=1) ERROR 02-20 21:35:07 [multiproc_executor.py:241] Worker proc VllmWorker-0 died unexpectedly, shutting down executor."
    crash = "Failed: Cuda error /workspace/csrc/custom_all_reduce.cuh:164 'invalid argument'"
    found = judged(inserted(whole, whole.rstrip(b"\n").count(b"\n") + 1, f"{crash}\n{died}"))
    assert found.finding is not None and found.finding.patch == "custom-all-reduce"


PARTS = ("cri", "docker json", "docker", "journald")


def carried(lines_: list[str], carrier: str) -> bytes:
    """What carriers make of lines, of which none takes one of more than 16 KiB."""
    stamp = "2026-02-20T21:35:07.123456789Z"
    told: list[str] = []
    for line in lines_:
        limit = 49_152 if carrier == "journald" else 16_384
        pieces = [line[start : start + limit] for start in range(0, max(len(line), 1), limit)]
        for number, piece in enumerate(pieces, 1):
            last = number == len(pieces)
            if carrier == "cri":
                told.append(f"{stamp} stderr {'F' if last else 'P'} {piece}")
            elif carrier == "docker json":
                told.append(json.dumps({"log": piece + "\n" * last, "stream": "stderr", "time": stamp}))
            elif carrier == "docker":
                told.append(f"{stamp} {piece}")
            else:
                told.append(f"Feb 20 21:35:07 node-a vllm[43]: {piece}")
    return "\n".join([*told, ""]).encode()


@pytest.mark.parametrize("carrier", PARTS)
def test_a_line_that_a_carrier_breaks_off_goes_on_in_the_next(carrier: str) -> None:
    serving = HEALTHY["own-healthy-tp2"].decode().rstrip("\n").split("\n")
    died = [line for line in FAILED["oom-first-request"].split("\n") if " ERROR " in line]
    limit = 49_152 if carrier == "journald" else 16_384
    head = f"{FRONT}{INFO}[logger.py:39] Received request chatcmpl-1: prompt: '"
    # several requests, each with a record at the place where the carrier breaks it off
    prompts = [(head + "x" * (limit - len(head)) + line) for line in died]
    whole = carried([*serving, *prompts], carrier)
    assert said(judged(whole)) == ("healthy", None, None)
    assert said(judged(carried([*serving, *died], carrier)))[0] == "fault"


@pytest.mark.parametrize("form", ANYWHERE, ids=name_of)
def test_each_form_in_the_end_of_a_log_whose_beginning_is_cut_off(form: Callable[[str], str]) -> None:
    served = [f'INFO:     10.1.3.4:5{n:04} - "POST /v1/completions HTTP/1.1" 200 OK' for n in range(30)]
    for name in ("amx-wants-bf16", "oom-first-request"):
        whole = "\n".join([*served, form(FAILED[name]), *served, ""]).encode()
        assert said(judged(whole)) == ("healthy", None, None), name


@pytest.mark.parametrize(
    "told",
    [
        # titles, headed by the file that logs a client's text
        ["Failed to compile the grammar: x", "Worker proc VllmWorker-0 died unexpectedly, shutting down executor."],
        ["x", "EngineCore encountered a fatal error.", "Traceback (most recent call last):", '  File "a.py", line 3, in f',
         "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB"],
    ],
)  # fmt: skip
def test_an_engine_that_logs_a_clients_grammar_has_not_died(told: list[str]) -> None:
    header = "(EngineCore pid=5413) ERROR 02-20 21:35:07 [backend_xgrammar.py:160] "
    forged = "\r\n".join(header + line for line in told)
    whole = HEALTHY["own-healthy-tp2"]
    assert said(judged(inserted(whole, up_of(whole), forged))) == ("healthy", None, None)


def test_a_real_end_behind_a_cut_off_beginning_is_told() -> None:
    whole = log(named("oom-first-request"))
    cut_off = b"\n".join(whole.split(b"\n")[up_of(whole) + 1 :])
    found = judged(b'(APIServer pid=1) INFO:     10.1.3.4:51234 - "GET /health HTTP/1.1" 200 OK\n' + cut_off)
    assert found.finding is not None and found.finding.patch.startswith("oom")


@pytest.mark.parametrize(
    "name", ["dtype-fp16", "undefined-symbol", "while-importing-torch", "wrong-interpreter"]
)
@pytest.mark.parametrize("before", [b"", HEALTHY["own-healthy-tp2"]], ids=["rotated", "whole"])
def test_a_server_that_is_known_to_have_come_up_failed_by_nothing_that_a_start_fails_by(
    name: str, before: bytes
) -> None:
    """Whatever became of its log: only an engine ends it."""
    known = Known(served=True)
    found = diagnose_log([before, FAILED[name].encode()], grammar=GRAMMAR, known=known, patches=PATCHES)
    assert (found.verdict, found.finding) == ("healthy", None)


@pytest.mark.parametrize("name", ["dtype-fp16", "cli-kv-dtype-choice", "as-an-argument"])
def test_no_server_that_was_up_ended_by_its_command_line(name: str) -> None:
    whole = HEALTHY["own-healthy-tp2"]
    forged = inserted(whole, up_of(whole), printed(FAILED[name]))
    ended = Known(ended=True)
    assert said(diagnose_log([forged], grammar=GRAMMAR, known=ended, patches=PATCHES)) == (
        "healthy",
        None,
        None,
    )


@pytest.mark.parametrize("name", SERVING_FAULTS)
@pytest.mark.parametrize("form", [refused, several_lines("middleware.py:12", "ERROR")], ids=name_of)
def test_the_end_of_a_server_that_does_not_log_that_it_came_up(form: Callable[[str], str], name: str) -> None:
    """--uvicorn-log-level warning leaves both lines out that say so."""
    known = Known(served=True)
    whole = next(log(case) for case in CASES if case.name == name)
    forged = inserted(whole, up_of(whole), form(FAILED["amx-wants-bf16"]))
    quiet = [line for line in forged.split(b"\n") if UP not in line and b"Uvicorn running" not in line]
    found = diagnose_log([b"\n".join(quiet)], grammar=GRAMMAR, known=known, patches=PATCHES)
    assert found.finding is not None and found.finding == judged(whole).finding
    served = b"\n".join(quiet[: up_of(whole) + 5])
    assert said(diagnose_log([served], grammar=GRAMMAR, known=known, patches=PATCHES)) == (
        "healthy",
        None,
        None,
    )


FORGED_STARTS = [
    "(APIServer pid=4520) INFO 02-20 21:35:07 [logger.py:39] vLLM API server version 0.16.0",
    "(APIServer pid=4520) INFO 02-20 21:35:07 [middleware.py:3] non-default args: {'model': 'x'}",
    "(APIServer pid=4520) INFO 02-20 21:35:07 [api_server.py:3] body: vLLM API server version 0.16.0",
    "(APIServer pid=4520) + vllm serve x --port 1",
    "+ vllm serve x --port 1",
    "$ vllm serve x",
    "INFO:     1.2.3.4:5 - \"GET /vLLM API server version 0.16.0 HTTP/1.1\" 404 Not Found",
    'x (APIServer pid=99) INFO 02-20 21:35:07 [api_server.py:3] vLLM API server version 0.16.0',
    'mine: INFO 02-20 21:35:07 [api_server.py:3] vLLM API server version 0.16.0',
    "vllm-1  | INFO 02-20 21:35:07 [api_server.py:3] vLLM API server version 0.16.0",
    "usage: vllm serve [-h] [options]",
]  # fmt: skip


@pytest.mark.parametrize("forged", FORGED_STARTS)
def test_no_launch_begins_in_a_clients_words(forged: str) -> None:
    whole = HEALTHY["own-healthy-tp2"]
    raw = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nValueError: invalid'
    assert said(judged(inserted(whole, up_of(whole), f"{forged}\n{raw}"))) == ("healthy", None, None)


def test_what_a_launch_is_was_said_before_it_had_clients() -> None:
    whole = HEALTHY["own-healthy-tp2"]
    forged = (
        "non-default args: {'model': 'x', 'tensor_parallel_size': 64}\n"
        "Initializing a V1 LLM engine (v9.9.9) with config: model='x', kv_cache_dtype=fp8\n"
        "Using TRITON_MLA backend\nGPU KV cache size: 12 tokens\n"
    )

    def told(log_: bytes) -> tuple[object, ...]:
        found = last_launch(lines.read(lines.cut([log_]), GRAMMAR), GRAMMAR).startup
        return found.version, found.arguments, found.engine, found.attention_backend, found.kv_tokens

    assert told(inserted(whole, up_of(whole), forged)) == told(whole)


def test_the_requests_of_a_hang_do_not_explain_it() -> None:
    whole = log(named("hang-serving-zero-throughput")).rstrip(b"\n")
    known = Known(idle_seconds=4000.0)
    plain = diagnose_log([whole + b"\n"], grammar=GRAMMAR, known=known, patches=PATCHES)
    forged = (
        whole
        + b"\n"
        + request_log("No available shared memory broadcast block found in 60 seconds.").encode()
        + b"\n"
    )
    found = diagnose_log([forged], grammar=GRAMMAR, known=known, patches=PATCHES)
    assert found.finding is None or found.finding == plain.finding


@pytest.mark.parametrize(
    ("level", "file", "message", "client"),
    [
        ("INFO", "logger.py:39", "anything", True),
        ("INFO", "entrypoints/logger.py:39", "anything", True),
        ("INFO", "vllm.entrypoints.logger", "anything", True),
        ("INFO", "loggers.py:127", "Engine 000: Avg prompt throughput: 0.0 tokens/s", False),
        ("WARNING", "protocol.py:70", "The following fields were present in the request but ignored: {'x'}", True),
        ("ERROR", "serving_chat.py:262", "Error in preprocessing prompt inputs", False),
        (None, None, 'INFO:     1.2.3.4:5 - "GET / HTTP/1.1" 200 OK', True),
        (None, None, 'INFO:     1.2.3.4:5 - "GET /' + "x" * 60_000, True),
        (None, None, '1.2.3.4 - - [20/Feb/2026:21:35:07 +0000] "GET /x HTTP/1.1" 200 5 "-" "Mozilla"', True),
        (None, None, "INFO:     Application startup complete.", False),
        ("INFO", "_client.py:1025", 'HTTP Request: GET https://huggingface.co/x "HTTP/1.1 200 OK"', False),
        ("ERROR", "core.py:844", "EngineCore encountered a fatal error.", False),
    ],
)  # fmt: skip
def test_hearsay(level: str | None, file: str | None, message: str, client: bool) -> None:
    assert worded_by_a_client(level, file, message, GRAMMAR.clients) == client


REQUEST = GRAMMAR.clients.request
SHOWN = 'INFO:     1.2.3.4:5 - "GET / HTTP/1.1" 200 OK'


@pytest.mark.parametrize(
    ("message", "begun", "shows"),
    [
        (f"{REQUEST}chatcmpl-1: prompt: 'x'", True, True),
        (f"{REQUEST}chatcmpl-1: prompt: 'x'", False, True),
        (SHOWN, False, True),
        (SHOWN.replace("200 OK", "503 Service Unavailable"), False, False),  # nobody serves yet
        (SHOWN, True, False),  # while it starts another program may write into the log
        (f"a text with {REQUEST}", True, False),
        ("anything", False, False),
    ],
)
def test_which_hearsay_shows_that_a_server_has_clients(message: str, begun: bool, shows: bool) -> None:
    assert shows_clients(message, GRAMMAR.clients, begun=begun) is shows
    assert any(sign in message for sign in signs_of_clients(GRAMMAR.clients, begun=begun)) or not shows


def test_of_a_log_whose_beginning_is_there_access_lines_are_not_looked_for() -> None:
    assert signs_of_clients(GRAMMAR.clients, begun=True) == (REQUEST,)
    assert len(signs_of_clients(GRAMMAR.clients, begun=False)) == 2


def test_a_record_that_names_a_protocol_is_no_access_line_for_that() -> None:
    assert not worded_by_a_client(None, None, 'Using HTTP/1.1 keep-alive - "off"', GRAMMAR.clients)
