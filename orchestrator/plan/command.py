"""With which command line does the engine start?"""

from __future__ import annotations

from orchestrator.engines.vllm.adjustments import NO_ADJUSTMENTS, Adjustments
from orchestrator.engines.vllm.arguments import ArgumentValue, rendered
from orchestrator.playbook.playbook import Playbook

MODULE = "vllm.entrypoints.openai.api_server"
"""The module form works in every release from 0.10 to 0.33; `vllm serve` needs a distribution named vllm,
which the CPU build is not. From 0.29 on it prints a harmless deprecation warning."""


def engine_command(
    playbook: Playbook,
    *,
    python: str,
    folder: str,
    context: int | None = None,
    adjustments: Adjustments = NO_ADJUSTMENTS,
) -> tuple[str, ...]:
    """The argument list of one launch: no shell reads it, an option and its value are two items.

    `python` and `folder` are absolute paths on the host; `context` (tokens) replaces the playbook's where
    it was planned anew. What a remedy set wins over both.
    """
    options: dict[str, ArgumentValue] = {
        "model": folder,
        "served-model-name": playbook.served_name,
        "host": playbook.listen,
        "port": playbook.port,
        "tensor-parallel-size": playbook.parallel.tensor,
    }
    if playbook.parallel.pipeline > 1:
        options["pipeline-parallel-size"] = playbook.parallel.pipeline
    if playbook.parallel.data > 1:
        options["data-parallel-size"] = playbook.parallel.data
    options["max-model-len"] = context or playbook.context
    options.update(playbook.arguments)
    for name, value in adjustments.flags.items():
        if value is None:
            options.pop(name, None)
        else:
            options[name] = value
    items = [item for name, value in options.items() for item in rendered(name, value)]
    return (python, "-m", MODULE, *items)
