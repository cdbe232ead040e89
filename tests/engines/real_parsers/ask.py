"""Runs in an engine's environment: does this release's own argument parser take each of these command lines?

Standard input has a JSON list of argument lists; standard output ends with a JSON list as long: null where all is taken,
else what the release says against it. Done is what vLLM's API server does before it reads a model: parse, judge what
goes together, and look for the named parsers.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from typing import Any, NoReturn


def of_the_release(name: str, *modules: str) -> Any:
    """`name` from the first of the modules that this release has it in."""
    for module in modules:
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
    raise SystemExit(f"this release has {name} in none of {', '.join(modules)}")


def says(parser: argparse.ArgumentParser, judges: list[Any], line: list[str]) -> str | None:
    """What the release says against the line, or nothing."""
    try:
        arguments = parser.parse_args(line)
        for judge in judges:
            judge(arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def refuse(message: str) -> NoReturn:
    raise ValueError(message)


def main() -> None:
    lines = json.load(sys.stdin)
    flexible = of_the_release("FlexibleArgumentParser", "vllm.utils.argparse_utils", "vllm.utils")
    settings = ("vllm.entrypoints.openai.cli_args", "vllm.entrypoints.launchers.cli_args")
    parser = of_the_release("make_arg_parser", *settings)(flexible())
    parser.error = refuse
    judges = [
        of_the_release("validate_parsed_serve_args", *settings),
        of_the_release(
            "validate_api_server_args",
            "vllm.entrypoints.openai.api_server",
            "vllm.entrypoints.launchers.launcher",
        ),
    ]
    print(json.dumps([says(parser, judges, line) for line in lines]))


if __name__ == "__main__":
    main()
