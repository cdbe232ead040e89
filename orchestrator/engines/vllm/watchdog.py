"""Where does vLLM dump the stacks of a process that gets stuck, and what are those files called?"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from orchestrator.engines.options import Addition, Option, Options
from orchestrator.engines.vllm.option_table import releases, takes
from orchestrator.on_host.kinds.kind import HERE

DUMPS = "VLLM_STACK_DUMP_for_*.log"
_OPTION = "watchdog-config"
_FOLDER = f"{_OPTION}.dump_dir"
_REASON = (
    "a process that is stuck for 300 s in a call of the engine leaves its stacks in the launch's folder, where a hang is "
    "explained by them; off otherwise"
)
_Some = TypeVar("_Some", bound=Options)


def leaving_stacks(options: _Some, version: str) -> _Some:
    """With the watchdog's folder where this version certainly has one (0.33) and nobody set anything of it."""
    beside = releases().beside(version)
    has_one = bool(beside) and all(takes(_OPTION, release) for release in beside)
    if not has_one or any(name.split(".")[0] == _OPTION for name in options.given):
        return options
    noted = replace(options, additions=(*options.additions, Addition(f"--{_FOLDER} {HERE}", _REASON)))
    return noted.changed({_FOLDER: Option(HERE, "default")})
