"""What stands in the log of an SGLang that does nothing?"""

from __future__ import annotations

import re

from orchestrator.engines.log_grammar import Pulse

PULSE = Pulse(
    serves=re.compile(r"^(?:Decode|Prefill) batch"),
    asked=re.compile(
        r'"(?:GET|POST) /(?:health|health_generate|ready|metrics|v1/models|(?:get_)?(?:model|server)_info)\b'
        r"|^Health check failed\."
    ),
    # a health check that fails is a request as well: of one token, which did not come in so many seconds
    idle=re.compile(
        r"(?:#running-req: |a response from detokenizer for last )(?P<running>\d{1,9})"
        r"(?: seconds|, .{0,400}gen throughput \(token/s\): 0\.00)"
    ),
)
