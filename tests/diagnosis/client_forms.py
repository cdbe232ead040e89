"""Records in which a server's log gives back what its clients write, each made of a text of theirs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from urllib.parse import quote

from orchestrator.diagnosis import lines
from orchestrator.engines.vllm.log.grammar import GRAMMAR

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


def refused_by_the_core(text: str) -> str:
    """From 0.33 on the engine's core says it, in its own name."""
    header = f"(EngineCore pid=4600) {INFO}[core.py:2173] "
    told = f"Request cmpl-1 failed validation: Grammar error: {text}"
    return "\r\n".join(header + line for line in told.split("\n"))


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
    return "\n".join(line.message for line in lines.read(text.encode().split(b"\n"), GRAMMAR))


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
    *ANYWHERE, tool_parser, refused, refused_by_the_core, several_lines("middleware.py:12", "ERROR"), several_lines("mine.py:1"),
    json_record_of_a_middleware, printed_body, docker_body, printed, printed_bare, printed_in_one,
    with_separator(printed_in_one, "\r"), with_separator(printed, "\u2028"),
]  # fmt: skip


def whole_records(form: Callable[[str], str], text: str) -> bool:
    """Whether nobody can tell a form of a text from the server's own records: its name and a record without one."""
    return form.__name__.partition("'")[0] == "printed" and any(
        line.level and line.file and line.process is None
        for line in lines.read(text.encode().split(b"\n"), GRAMMAR)
    )


def name_of(form: Callable[[str], str]) -> str:
    """By which a test can be asked for again, whatever signs a form is made of."""
    return re.sub(r"\W+", "-", form.__name__)
