"""Which lines of a log may a client of the server have worded?

What a client wrote is no evidence: prompts in request logs, paths in access lines, outputs, bodies. A record whose sentence
is the engine's own belongs to nobody else, whatever it quotes; these are the records that consist of what they quote.
"""

from __future__ import annotations

import re

from orchestrator.engines.log_grammar import Clients

_ACCESS = re.compile(
    r'(?:[A-Z]{4,8}: +)?\S{0,100} - "[A-Z]{3,16} |.{0,200}?"[A-Z]{3,16} [^"]{0,8192}? HTTP/\d'
)
"""An access line of uvicorn (whose end a long path may push out of what is kept), gunicorn, hypercorn, nginx."""
_ANSWERED = " HTTP/1."
_UNAVAILABLE = re.compile(r'"(?:GET|HEAD) [/\w-]{1,80} HTTP/\d(?:\.\d)?" 503\b')
"""Who is answered that nobody serves yet has sent no more than a path."""
HARMLESS = ("DEBUG", "INFO", "WARNING")
"""Levels of what is no failure."""


def worded_by_a_client(level: str | None, file: str | None, message: str, clients: Clients) -> bool:
    """Whether a record may consist of a client's words; tracebacks that a server logs of a request are no such records."""
    if message.startswith(clients.sentences):
        return True
    if level in HARMLESS and file is not None and clients.sources.search(file):
        return True
    if level in HARMLESS and clients.goes_on is not None and clients.goes_on.match(message):
        return True
    return (' - "' in message or " HTTP/" in message) and _ACCESS.match(message) is not None


def signs_of_clients(clients: Clients, *, begun: bool) -> tuple[str, ...]:
    """One of these is in every line that shows that a server has clients: one of its request log does.

    An access line may be of another program that writes into the log while the server starts; where the log does not
    tell how the server started (`begun`), its beginning is cut off.
    """
    return (clients.request,) if begun else (clients.request, _ANSWERED)


def shows_clients(message: str, clients: Clients, *, begun: bool) -> bool:
    """Whether a line of hearsay is such a line."""
    answered = _ANSWERED in message and not _UNAVAILABLE.search(message)
    return message.startswith(clients.request) or (not begun and answered)
