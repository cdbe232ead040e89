"""How do checkpoint and launch stand, and what is true on the host, in one answer?"""

from __future__ import annotations

from typing import Any

from orchestrator.on_host.programs import inspect_checkpoint, observe, read_facts


def main(request: dict[str, Any]) -> dict[str, Any]:
    """`checkpoint`, `launch` and, where they are asked for, `facts` (else null) are the requests of the three programs.

    The answer has theirs under the same names. The commands that tell the facts run meanwhile.
    """
    facts = read_facts.begin(request["facts"]) if request.get("facts") else None
    launch = observe.main(request["launch"])  # first: from its `turn` on nothing may change unseen
    answer = {"checkpoint": inspect_checkpoint.main(request["checkpoint"]), "launch": launch}
    return {**answer, "facts": facts()} if facts else answer
