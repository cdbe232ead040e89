"""What stands in the log of an SGLang that does nothing?"""

from __future__ import annotations

import re

from orchestrator.engines.log_grammar import Pulse

PULSE = Pulse(
    serves=re.compile(r"^(?:Decode|Prefill) batch"),
    asked=re.compile(
        r'"(?:GET|POST) /(?:health|health_generate|ready|metrics|v1/models|(?:get_)?(?:model|server)_info)\b'
    ),
    idle=re.compile(r"#running-req: (?P<running>\d{1,9}), .{0,400}gen throughput \(token/s\): 0\.00"),
)
