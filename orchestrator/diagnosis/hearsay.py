"""Which lines of a log may a client of the server have worded?

What a client wrote is no evidence: prompts in request logs, paths in access lines, outputs, bodies. A record whose sentence
is vLLM's own belongs to nobody else, whatever it quotes; these are the records that consist of what they quote.
"""

from __future__ import annotations

import re

_SOURCES = re.compile(
    r"(?:^|[./])(?:logger|request_logger|protocol|serving\w*|preprocess\w*|renderer\w*|chat_utils|\w*tool_parser\w*"
    r"|\w*reasoning_parser\w*|middleware\w*)(?:\.py)?(?::\d+)?$"
)
"""Files of vLLM (0.5 to 0.33) that log what a request or an answer says, and the usual ones of a middleware."""
_ACCESS = re.compile(
    r'(?:[A-Z]{4,8}: +)?\S{0,100} - "[A-Z]{3,16} |.{0,200}?"[A-Z]{3,16} [^"]{0,8192}? HTTP/\d'
)
"""An access line of uvicorn (whose end a long path may push out of what is kept), gunicorn, hypercorn, nginx."""
_SENTENCES = (
    "Received request ", "Received chat request", "Received chat completion request", "Received completion request",
    "Received openai", "Received batch request", "Request body", "request body", "Response body", "response_body=",
    "Generated response ", "Receive: obj=", "Finish: obj=", "Dumping scheduler output", "Error in extracting tool call",
    "Error trying to handle streaming tool call", "The following fields were present in the request",
)  # fmt: skip
_REQUEST, _ANSWERED = "Received request ", " HTTP/1."
GOES_ON = "response_body="
"""vLLM 0.9 to 0.12 logs an answer with its line feeds, from a file that says when a launch starts as well: each of the
lines has the header of the first."""
_HARMLESS = ("DEBUG", "INFO", "WARNING")


def worded_by_a_client(level: str | None, file: str | None, message: str) -> bool:
    """Whether a record may consist of a client's words; tracebacks that a server logs of a request are no such records."""
    if message.startswith(_SENTENCES):
        return True
    if level in _HARMLESS and file is not None and _SOURCES.search(file):
        return True
    return (' - "' in message or " HTTP/" in message) and _ACCESS.match(message) is not None


def signs_of_clients(*, begun: bool) -> tuple[str, ...]:
    """One of these is in every line that shows that a server has clients: one of its request log does.

    An access line may be of another program that writes into the log while the server starts; where the log does not
    tell how the server started (`begun`), its beginning is cut off.
    """
    return (_REQUEST,) if begun else (_REQUEST, _ANSWERED)


def shows_clients(message: str, *, begun: bool) -> bool:
    """Whether a line of hearsay is such a line."""
    return message.startswith(_REQUEST) or (not begun and _ANSWERED in message)
