"""What is the whole grammar of vLLM's log?"""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.engines.log_grammar import BackendRefusal, LeastChange, LogGrammar
from orchestrator.engines.vllm.log import kernel_list, least_change, selector
from orchestrator.engines.vllm.log.clients import CLIENTS
from orchestrator.engines.vllm.log.dumps import DUMPS
from orchestrator.engines.vllm.log.failures import FAILURES
from orchestrator.engines.vllm.log.processes import PROCESSES
from orchestrator.engines.vllm.log.pulse import PULSE
from orchestrator.engines.vllm.log.records import RECORDS
from orchestrator.engines.vllm.log.start import START


def _refusal(text: str) -> BackendRefusal | None:
    return selector.parse(text) or kernel_list.parse(text)


def _least_change(refusal: BackendRefusal, arguments: Mapping[str, str] | None) -> LeastChange | None:
    reckon = kernel_list.least_change if refusal.layer else least_change.least_change
    return reckon(refusal, arguments)


GRAMMAR = LogGrammar(
    "vllm",
    RECORDS,
    PROCESSES,
    CLIENTS,
    START,
    FAILURES,
    PULSE,
    DUMPS,
    refusal=_refusal,
    least_change=_least_change,
    mendable=(*least_change.MENDABLE, *kernel_list.MENDABLE),
    brief=selector.brief,
)
