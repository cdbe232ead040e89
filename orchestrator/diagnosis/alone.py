"""Which failures of a log stand there without their traceback?

What a search for errors leaves of a log are the exceptions' own lines and the sentences that announce a traceback. They
count where nothing else names a cause, and are read from the end of the log alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator.diagnosis.hearsay import HARMLESS
from orchestrator.diagnosis.incident import Incident, Raised, incident_of, role_of
from orchestrator.diagnosis.lines import Line
from orchestrator.diagnosis.tracebacks import DIRECT, HANDLING, MESSAGE_BYTES
from orchestrator.engines.log_grammar import LogGrammar

_EXCEPTION = re.compile(
    r"^(?P<name>(?:[A-Za-z_]\w{0,80}\.){0,12}(?:[A-Z]\w{0,120}(?:Error|Exception|Interrupt|Timeout|Failure)|Exception)"
    r"|(?:[A-Za-z_]\w{0,80}\.){1,12}\w{0,80}(?:error|timeout|exception)|KeyboardInterrupt|SystemExit)(?:\([\w.]{1,80}\))?(?:: .*|:)?$"
)
_LINKS = (DIRECT, HANDLING)


def incidents(tail: Sequence[Line], taken: Sequence[Incident], grammar: LogGrammar) -> Iterator[Incident]:
    """What these last lines of a log name, those left out that belong to what was `taken` already."""
    chains: dict[tuple[str | None, int | None], tuple[Line, list[Raised]]] = {}
    link: dict[tuple[str | None, int | None], str] = {}
    for line in tail:
        if line.hearsay or line.level in HARMLESS or _inside(line, taken):
            continue
        stream = line.process, line.pid
        text = line.message.strip()
        if text in _LINKS:
            link[stream] = text
        elif not taken and line.level is not None and grammar.failures.fatal_titles.match(text):
            announced = Raised(None, text, line.number, role="cascade")
            yield incident_of("cut", line, [announced], grammar, text)
        elif match := _EXCEPTION.match(text):
            raised = _raised(match, line, grammar)
            begun = chains.get(stream)
            if begun and stream in link:
                begun[1][-1] = replace(begun[1][-1], caused_next=link.pop(stream) == DIRECT)
                begun[1].append(raised)
                continue
            if begun:
                yield _complete(*begun, grammar)
            chains[stream] = line, [raised]
    for begun in chains.values():
        yield _complete(*begun, grammar)


def _inside(line: Line, taken: Sequence[Incident]) -> bool:
    return any(
        incident.first_line <= line.number <= incident.last_line and incident.process == line.process
        for incident in taken
    )


def _raised(match: re.Match[str], line: Line, grammar: LogGrammar) -> Raised:
    text = match[0][:MESSAGE_BYTES]
    return Raised(match["name"], text, line.number, role=role_of(text, grammar.failures))


def _complete(line: Line, chain: list[Raised], grammar: LogGrammar) -> Incident:
    return incident_of("exception", line, chain, grammar, last=chain[-1].line, lines=len(chain))
