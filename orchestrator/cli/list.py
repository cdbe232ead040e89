"""deploy list: which playbooks or patches are there?"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

import click

WIDTH = 80
FOLDER = click.Path(file_okay=False, exists=True, path_type=Path)


@click.command("list", epilog="Example:  deploy list playbooks")
@click.argument("kind", type=click.Choice(["playbooks", "patches"]))
@click.option("--playbooks", multiple=True, type=FOLDER, help="a folder of playbooks of your own")
@click.option("--patches", multiple=True, type=FOLDER, help="a folder of patches of your own")
@click.option("--json", "as_json", is_flag=True, help="one JSON object a line")
def list_(kind: str, playbooks: tuple[Path, ...], patches: tuple[Path, ...], as_json: bool) -> None:
    """List the playbooks or the patches: shipped, your own, and those of the folders given."""
    from orchestrator.report.json_lines import json_line
    from orchestrator.report.layout import passage

    rows = _playbooks(playbooks) if kind == "playbooks" else _patches(patches)
    if as_json:
        for row in rows:
            click.echo(json_line(row))
        return
    for number, (category, alike) in enumerate(groupby(rows, key=lambda row: row.get("category"))):
        if category:
            click.echo(f"{chr(10) if number else ''}{category.replace('_', ' ')}")
        for row in alike:
            click.echo(passage(_line(row)))


def _playbooks(folders: tuple[Path, ...]) -> Iterable[dict[str, Any]]:
    from orchestrator.base.data_folders import data_folders
    from orchestrator.base.errors import UsageError
    from orchestrator.playbook import playbook

    for name, path in playbook.names(data_folders("playbooks", folders)).items():
        row: dict[str, Any] = {"playbook": name, "file": str(path)}
        try:  # a broken one is shown as such, and does not hide the others
            loaded = playbook.load(path)
            yield {
                **row,
                "repository": loaded.model.repository,
                "title": loaded.description,
                "gpus": loaded.gpus,
            }
        except UsageError as error:
            yield {**row, "title": f"broken: {error.message}", "error": error.message}


def _patches(folders: tuple[Path, ...]) -> Iterable[dict[str, Any]]:
    from orchestrator.base.data_folders import data_folders
    from orchestrator.patches import catalogue

    patches, broken = catalogue.survey(data_folders("patches", folders))
    for patch in sorted(patches, key=lambda patch: (patch.category, patch.id)):
        yield {"patch": patch.id, "category": patch.category, "title": patch.title}
    for path, error in broken.items():
        yield {"patch": path.stem, "category": "broken", "title": error.message, "error": error.message}


def _line(row: dict[str, Any]) -> str:
    name = row.get("playbook") or row["patch"]
    indent = " " * 26
    text = row["title"] or row.get("repository", "")
    # a name longer than its column takes a line for itself
    first = f"{name:<26}" if len(name) < 26 else f"{name}\n{indent}"
    body = textwrap.wrap(text, WIDTH - len(indent), break_on_hyphens=False) or [""]
    return (first + f"\n{indent}".join(body)).rstrip()
