"""How does a host take part in the Ray of one launch, whose ranks lie on several hosts?"""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Mapping, Sequence

from orchestrator.engines.node import Node
from orchestrator.on_host.kinds.kind import HERE

PROGRAM = "ray_node.py"
OPEN = "Ray, which listens on all addresses and runs what it is sent"
"""What of it asks for the consent to listen openly: by itself it asks nobody who comes who that is."""


@functools.cache
def files() -> Mapping[str, str]:
    """What is needed in the launch's folder."""
    text = pkgutil.get_data("orchestrator.on_host", f"clusters/{PROGRAM}")
    assert text is not None  # of a loader that can read files
    return {PROGRAM: text.decode()}


def command(python: str, node: Node, gpus: int, server: Sequence[str]) -> tuple[str, ...]:
    """Ray on this host with so many of its GPUs; on the head the server too, once all hosts have joined.

    Where the head is met is Ray's own port, those above it are the others that Ray listens on.
    """
    return (
        python, f"{HERE}/{PROGRAM}", "--head", f"{node.head}:{node.port}", "--own", node.address,
        "--ports", str(node.port + 1), "--hosts", str(node.of), "--gpus", str(gpus),
        "--patience", str(node.patience), *(() if node.rank else ("--", *server)),
    )  # fmt: skip
