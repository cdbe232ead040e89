"""Which kinds of launches are there?"""

from __future__ import annotations

from orchestrator.on_host.kinds import nohup
from orchestrator.on_host.kinds.kind import Kind

USUAL: Kind = nohup.KIND
"""What holds a launch as long as nobody asks for another, and what held those whose records name none."""
KINDS: dict[str, Kind] = {kind.name: kind for kind in (nohup.KIND,)}
