"""Which records of SGLang's log consist of what a client sent?"""

from __future__ import annotations

import re

from orchestrator.engines.log_grammar import Clients

_REQUEST = "Receive: obj="

CLIENTS = Clients(
    # the last two are the events of a request log in JSON
    sentences=(_REQUEST, "Receive OpenAI: obj=", "Finish: obj=", "request.received", "request.finished"),
    sources=re.compile(r"(?!)"),
    request=_REQUEST,
)
