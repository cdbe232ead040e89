"""What stands in the log of a vLLM that does nothing?"""

from __future__ import annotations

import re

from orchestrator.engines.log_grammar import Pulse

PULSE = Pulse(
    asked=re.compile(r'"(?:GET|POST) /(?:health|metrics|ping|load|v1/models)\b'),
    idle=re.compile(
        r"Avg prompt throughput: 0\.0 tokens/s, Avg generation throughput: 0\.0 tokens/s, Running: (?P<running>\d{1,9}) reqs"
    ),
    stall="No available shared memory broadcast block found",
    serves=re.compile(r"Avg prompt throughput: \d"),
    stall_seconds=60.0,  # VLLM_RINGBUFFER_WARNING_INTERVAL
)
