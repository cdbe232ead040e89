"""What is the whole grammar of SGLang's log?"""

from __future__ import annotations

from orchestrator.engines.log_grammar import LogGrammar
from orchestrator.engines.sglang.log.clients import CLIENTS
from orchestrator.engines.sglang.log.failures import FAILURES
from orchestrator.engines.sglang.log.processes import PROCESSES
from orchestrator.engines.sglang.log.pulse import PULSE
from orchestrator.engines.sglang.log.records import RECORDS
from orchestrator.engines.sglang.log.start import START

GRAMMAR = LogGrammar("sglang", RECORDS, PROCESSES, CLIENTS, START, FAILURES, PULSE)
