"""What is SGLang, as an engine whose logs are read?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.engines.protocol import ReadEngine
from orchestrator.engines.sglang import arguments, variables

if TYPE_CHECKING:
    from orchestrator.engines.log_grammar import LogGrammar


def _grammar() -> LogGrammar:
    from orchestrator.engines.sglang.log.grammar import GRAMMAR

    return GRAMMAR


ENGINE = ReadEngine(
    kind="sglang",
    title="SGLang",
    arguments=arguments.RULES,
    variables=variables.RULES,
    port=30000,
    log_name="sglang.log",
    grammar=_grammar,
)
