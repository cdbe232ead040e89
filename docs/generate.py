"""Writes the parts of docs/reference that the code knows best: the help of every verb and the YAML schemas.

python docs/generate.py          # tests/test_docs.py fails when these are out of date (--check)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from orchestrator.cli.main import COMMANDS, cli
from orchestrator.patches.patch import Patch
from orchestrator.playbook.playbook import PlaybookFile
from orchestrator.playbook.profile import Profile

REFERENCE = Path(__file__).parent / "reference"


def help_page() -> str:
    """`deploy --help` and the help of each verb, as they print at 80 columns."""
    parts = ["# Help\n\nEvery verb's `--help`, generated from the code.\n"]
    root = click.Context(cli, info_name="deploy", terminal_width=80, **cli.context_settings)
    parts.append(f"## deploy\n\n```\n{cli.get_help(root).rstrip()}\n```\n")
    for verb in COMMANDS:
        command = cli.get_command(root, verb)
        assert command is not None
        parts += _help(command, verb, root)
    return "\n".join(parts)


def _help(command: click.Command, name: str, parent: click.Context) -> list[str]:
    """Of a verb and of the verbs below it."""
    context = click.Context(command, info_name=name, parent=parent, max_content_width=80, terminal_width=80)
    parts = [f"## {context.command_path}\n\n```\n{command.get_help(context).rstrip()}\n```\n"]
    for below in command.commands if isinstance(command, click.Group) else ():
        inner = command.get_command(context, below)
        assert inner is not None
        parts += _help(inner, below, context)
    return parts


def schema(model: type[PlaybookFile] | type[Profile] | type[Patch], title: str) -> str:
    """A JSON schema for editors (`# yaml-language-server: $schema=...`)."""
    return json.dumps({"title": title, **model.model_json_schema(mode="validation")}, indent=2) + "\n"


def pages() -> dict[Path, str]:
    """Every generated file with its content."""
    return {
        REFERENCE / "help.md": help_page(),
        REFERENCE / "playbook.schema.json": schema(PlaybookFile, "Playbook"),
        REFERENCE / "profile.schema.json": schema(Profile, "Profile"),
        REFERENCE / "patch.schema.json": schema(Patch, "Patch"),
    }


if __name__ == "__main__":
    stale = {
        path: content for path, content in pages().items() if not path.exists() or path.read_text() != content
    }
    if "--check" in sys.argv:
        sys.exit(f"out of date: {', '.join(path.name for path in stale)}" if stale else 0)
    for path, content in stale.items():
        path.write_text(content)
        print(path)
