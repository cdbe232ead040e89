"""Runs in an engine's environment: what are this release's own options, parsers, architectures and variables?

Standard output ends with one JSON object. A new release is added to the tables of `engines/vllm/` by what this says of it.
"""

from __future__ import annotations

import json
from typing import Any

from ask import of_the_release


def options() -> dict[str, dict[str, Any]]:
    """By long name: whether it is a switch, the type that reads its value, its choices and its default."""
    flexible = of_the_release("FlexibleArgumentParser", "vllm.utils.argparse_utils", "vllm.utils")
    modules = [f"vllm.entrypoints.{place}.cli_args" for place in ("openai", "launchers", "common")]
    parser = of_the_release("make_arg_parser", *modules)(flexible())
    return {
        name.removeprefix("--"): {
            "switch": action.nargs == 0,
            "type": getattr(action.type, "__qualname__", None),
            "choices": [str(choice) for choice in action.choices or ()],
            "default": None if action.default is None else str(action.default),
        }
        for action in parser._actions
        for name in action.option_strings
        if name.startswith("--") and name != "--help"
    }


def registered(manager: str, *modules: str) -> list[str]:
    found = of_the_release(manager, *modules)
    return sorted(found.list_registered())


def main() -> None:
    from vllm import envs
    from vllm.model_executor.models.registry import ModelRegistry

    tools = ("vllm.tool_parsers", "vllm.entrypoints.openai.tool_parsers")
    print()
    print(
        json.dumps(
            {
                "options": options(),
                "tool-call-parser": registered("ToolParserManager", *tools),
                "reasoning-parser": registered("ReasoningParserManager", "vllm.reasoning"),
                "architectures": sorted(ModelRegistry.get_supported_archs()),
                "variables": sorted(name for name in envs.environment_variables if name.startswith("VLLM_")),
            }
        )
    )


if __name__ == "__main__":
    main()
