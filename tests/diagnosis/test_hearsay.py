"""Nothing that a client of the server can write is evidence, in whatever record it comes back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from urllib.parse import quote

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from orchestrator.diagnosis import lines
from orchestrator.diagnosis.engine import Context, Diagnosis, diagnose, diagnose_log
from orchestrator.diagnosis.live import Live
from tests.diagnosis.labels import CASES, expected, log
from tests.diagnosis.test_cases import OF_PATCHES, PATCHES

NOWHERE = Context()
AS_FOUND = (Phase.explicit, Phase.reuse, Phase.generate)
"""A failing example is small enough as it is: it names a log, a form and a text."""
ANSI = re.compile(r"\x1b\[[0-9;]*m")
HEADER = re.compile(
    r"^(?:\([^()]* pid=\d+[^()]*\) )*(?:(?:DEBUG|INFO|WARNING|ERROR) \d\d-\d\d \S+ \[?\S+\] ?)?", re.M
)
FAILED = {
    case.name: log(case).decode("utf-8", "replace").replace("\r\n", "\n")
    for case in [*CASES, *OF_PATCHES.values()]
    if expected(case)["verdict"] == "fault" and len(log(case)) < 24_000
}
"""True failures, as a client would paste them."""
HEALTHY = {
    case.name: log(case)
    for case in CASES
    if expected(case)["verdict"] == "healthy" and not log(case).startswith(b"{") and b"\r\n" not in log(case)
}
SERVING_FAULTS = [
    "oom-first-request",
    "illegal-access-first-request",
    "turboquant-first-request",
    "ecc-error-in-service",
]
UP = b"Application startup complete."

FRONT = "(APIServer pid=4520) "
INFO = "INFO 02-20 21:35:07 "


def request_log(text: str) -> str:
    return f"{FRONT}{INFO}[logger.py:39] Received request chatcmpl-1: prompt: {text!r}, params: SamplingParams(n=1)."


def request_log_of_old(text: str) -> str:
    return f"INFO 02-20 21:35:07 logger.py:36] Received request cmpl-1: prompt: {text!r}, params: x, prompt_token_ids: [1]."


def output_log(text: str) -> str:
    return (
        f"{FRONT}{INFO}[logger.py:62] Generated response chatcmpl-1: output: {text!r}, output_token_ids: [1]"
    )


def several_lines(source: str, level: str = "INFO") -> Callable[[str], str]:
    """vLLM's formatter repeats the header on each line of a record."""

    def render(text: str) -> str:
        header = f"{FRONT}{level} 02-20 21:35:07 [{source}] "
        return "\r\n".join(header + line for line in text.split("\n"))

    return render


def answer(text: str) -> str:
    return several_lines("api_server.py:1421")(
        f"response_body={{streaming_complete: content='{text}', chunks=3}}"
    )


def tool_parser(text: str) -> str:
    told = ["Error in extracting tool call from response.", "Traceback (most recent call last):"]
    told += [
        '  File "/opt/vllm/hermes_tool_parser.py", line 3, in extract',
        "    json.loads(text)",
        f"ValueError: {text}",
    ]
    return several_lines("hermes_tool_parser.py:163", "ERROR")("\n".join(told))


def refused(text: str) -> str:
    told = ["Error in preprocessing prompt inputs", "Traceback (most recent call last):"]
    told += [
        '  File "/opt/vllm/serving_chat.py", line 3, in f',
        "    raise_exception(message)",
        f"jinja2.exceptions.TemplateError: {text}",
    ]
    return several_lines("serving_chat.py:262", "ERROR")("\n".join(told))


def validation_error(text: str) -> str:
    return f"{FRONT}ERROR 02-20 21:35:07 [api_server.py:9] 1 validation error: [{{'type': 'missing', 'input': {text!r}}}]"


def access(text: str) -> str:
    return f'{FRONT}INFO:     10.1.3.4:51234 - "GET /{quote(text)} HTTP/1.1" 404 Not Found'


def access_as_it_came(text: str) -> str:
    path = text.replace("\n", " ").replace('"', "'")
    return f'INFO:     10.1.3.4:51234 - "GET /?q={path} HTTP/1.1" 404 Not Found'


def json_record(text: str) -> str:
    keys = {
        "asctime": "2026-02-20 21:35:07",
        "levelname": "INFO",
        "fileinfo": "logger.py:39",
        "processName": "APIServer",
    }
    return json.dumps({**keys, "message": f"Received request chatcmpl-1: prompt: {text}"})


def json_record_of_a_middleware(text: str) -> str:
    return json.dumps({"levelname": "INFO", "name": "mine", "message": text}, ensure_ascii=False)


def printed_body(text: str) -> str:
    return json.dumps(
        {"message": text, "level": "ERROR", "log": text, "stream": True, "processName": "EngineCore"}
    )


def docker_body(text: str) -> str:
    return FRONT + json.dumps({"log": text, "stream": "stdout", "time": "t"})


def sglang(text: str) -> str:
    return (
        f"[2026-02-20 21:35:07] Receive: obj=GenerateReqInput(rid='1', text={text!r}, sampling_params={{}})"
    )


def printed(text: str) -> str:
    """A middleware's print: up to vLLM 0.30 each line gets the API server's name."""
    return "\n".join(FRONT + line for line in text.split("\n"))


def printed_bare(text: str) -> str:
    """The same in other versions, for texts that do not claim to be records."""
    return HEADER.sub("", text)


def printed_in_one(text: str) -> str:
    return "body: " + text.replace("\n", " ")


def with_separator(form: Callable[[str], str], separator: str) -> Callable[[str], str]:
    def render(text: str) -> str:
        return form(text.replace("\n", separator)).replace(repr(separator)[1:-1], separator)

    render.__name__ = f"{form.__name__}{separator!a}"
    return render


ANYWHERE: list[Callable[[str], str]] = [
    request_log, request_log_of_old, output_log, several_lines("logger.py:39"), several_lines("serving_chat.py:40"), answer,
    validation_error, access, access_as_it_came, json_record, sglang,
    *(with_separator(form, each) for form in (request_log, request_log_of_old, access_as_it_came)
      for each in ("\r", "\x1b[0m", "\u2028", "\x85", "\x0b", "\x0c", "\x1e")),
]  # fmt: skip
"""Records that say themselves what they are: wherever a log was cut, they tell nothing."""
SERVING: list[Callable[[str], str]] = [
    *ANYWHERE, tool_parser, refused, several_lines("middleware.py:12", "ERROR"), several_lines("mine.py:1"),
    json_record_of_a_middleware, printed_body, docker_body, printed, printed_bare, printed_in_one,
    with_separator(printed_in_one, "\r"), with_separator(printed, "\u2028"),
]  # fmt: skip


def name_of(form: Callable[[str], str]) -> str:
    return form.__name__


def inserted(whole: bytes, at: int, text: str) -> bytes:
    parts = whole.rstrip(b"\n").split(b"\n")
    return b"\n".join([*parts[:at], text.encode("utf-8", "replace"), *parts[at:], b""])


def up_of(whole: bytes) -> int:
    """Lines up to the one that says that the server is up."""
    return whole[: whole.rindex(UP)].count(b"\n") + 1


def judged(whole: bytes) -> Diagnosis:
    found = diagnose_log([whole], context=NOWHERE, patches=PATCHES)
    assert found == diagnose(lines.cut([whole]), context=NOWHERE, patches=PATCHES)
    return found


def said(found: Diagnosis) -> tuple[object, ...]:
    cause = found.root_cause.text if found.root_cause else None
    return found.verdict, found.finding, cause if found.verdict in ("fault", "unknown_fault") else None


@cache
def ever_doomed(whole: bytes) -> bool:
    """Whether a launch was thought to be lost while its log arrived; a log may begin with a launch that was."""
    live, doomed = Live(NOWHERE, PATCHES), False
    for start in range(0, len(whole), 1500):
        live.feed(whole[start : start + 1500])
        live.look()
        doomed = doomed or live.doomed
    return doomed


@settings(max_examples=80, deadline=None, phases=AS_FOUND)
@given(st.data())
def test_a_healthy_server_stays_healthy_whatever_clients_write(data: st.DataObject) -> None:
    whole = HEALTHY[data.draw(st.sampled_from(sorted(HEALTHY)), label="log")]
    form = data.draw(st.sampled_from(SERVING), label="form")
    text = FAILED[data.draw(st.sampled_from(sorted(FAILED)), label="text")]
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


@settings(max_examples=40, deadline=None, phases=AS_FOUND)
@given(st.data())
def test_a_failure_keeps_its_cause_whatever_clients_wrote(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(SERVING_FAULTS), label="log")
    whole = next(log(case) for case in CASES if case.name == name)
    form = data.draw(st.sampled_from(SERVING), label="form")
    text = FAILED[data.draw(st.sampled_from(sorted(FAILED)), label="text")]
    # a server that has ended prints nothing; and nothing may come between the lines of an exception's message
    end = whole.rstrip(b"\n").count(b"\n") + 1
    at = data.draw(
        st.sampled_from([up_of(whole), end]) if form in ANYWHERE else st.just(up_of(whole)), label="at"
    )
    assert said(judged(inserted(whole, at, form(text)))) == said(judged(whole))
