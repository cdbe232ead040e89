"""What is the whole grammar of vLLM's log?"""

from __future__ import annotations

from orchestrator.engines.log_grammar import LogGrammar
from orchestrator.engines.vllm.log import selector
from orchestrator.engines.vllm.log.clients import CLIENTS
from orchestrator.engines.vllm.log.failures import FAILURES
from orchestrator.engines.vllm.log.least_change import MENDABLE, least_change
from orchestrator.engines.vllm.log.processes import PROCESSES
from orchestrator.engines.vllm.log.pulse import PULSE
from orchestrator.engines.vllm.log.records import RECORDS
from orchestrator.engines.vllm.log.start import START

GRAMMAR = LogGrammar(
    "vllm",
    RECORDS,
    PROCESSES,
    CLIENTS,
    START,
    FAILURES,
    PULSE,
    refusal=selector.parse,
    least_change=least_change,
    mendable=MENDABLE,
    brief=selector.brief,
)
