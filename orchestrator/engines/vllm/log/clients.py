"""Which records of vLLM's log consist of what a client sent?"""

from __future__ import annotations

import re

from orchestrator.engines.log_grammar import Clients

_REQUEST = "Received request "
_ANSWER = "response_body="
"""vLLM 0.9 to 0.12 logs an answer with its line feeds, from a file that says when a launch starts as well: each of the
lines has the header of the first."""
_REFUSED = r"Request .{1,400}? failed (?:validation: |\(bad request\): |\(input error\): |due to )"
"""Why a request was refused, in words that quote it: the engine's core says so in its own name (0.33)."""

CLIENTS = Clients(
    sentences=(
        _REQUEST, "Received chat request", "Received chat completion request", "Received completion request",
        "Received openai", "Received batch request", "Request body", "request body", "Response body", _ANSWER,
        "Generated response ", "Receive: obj=", "Finish: obj=", "Dumping scheduler output", "Error in extracting tool call",
        "Error trying to handle streaming tool call", "The following fields were present in the request",
    ),
    # files of vLLM (0.5 to 0.33) that log what a request or an answer says, and the usual ones of a middleware
    sources=re.compile(
        r"(?:^|[./])(?:logger|request_logger|protocol|serving\w*|preprocess\w*|renderer\w*|chat_utils|\w*tool_parser\w*"
        r"|\w*reasoning_parser\w*|middleware\w*)(?:\.py)?(?::\d+)?$"
    ),
    request=_REQUEST,
    goes_on=re.compile(rf"^(?:{_ANSWER}|{_REFUSED})"),
)  # fmt: skip
