"""deploy list: which playbooks or patches are there?"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.base.amounts import decimal

if TYPE_CHECKING:
    from orchestrator.playbook.playbook import Playbook

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
    for line in _table(rows) if kind == "playbooks" else _catalogue(rows):
        click.echo(passage(line))


def _catalogue(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    for number, (category, alike) in enumerate(groupby(rows, key=lambda row: row["category"])):
        yield f"{chr(10) if number else ''}{category.replace('_', ' ')}"
        yield from (_titled(row["patch"], row["title"] + _of_another_engine(row)) for row in alike)


def _of_another_engine(row: dict[str, Any]) -> str:
    """Whose failure it is, where it is not the usual engine's."""
    from orchestrator.engines import registry

    kinds = [kind for kind in row.get("engines", ()) if kind in registry.kinds()]
    others = [registry.read(kind).title for kind in kinds if registry.USUAL not in kinds]
    return f" ({', '.join(others)})" if others else ""


def _table(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield _columns("playbook", "stored", "download", "cards of GB each", "engine")
    for row in rows:
        if "error" in row:
            yield _titled(row["playbook"], row["title"])
            continue
        size, engine = row["weights_bytes"], row["engine"]
        yield _columns(
            row["playbook"],
            row["precision"] or "-",
            decimal(size) if size else "-",
            _cards(row),
            f"{engine['kind']}{engine['version']}",
        )


def _columns(name: str, stored: str, size: str, cards: str, engine: str) -> str:
    """A line of the table; a name longer than its column takes one for itself."""
    first = f"{name:<25} " if len(name) < 26 else f"{name}\n{'':<26}"
    return f"{first}{stored:<7} {size:>7}  {cards:<22} {engine}"


def _cards(row: dict[str, Any]) -> str:
    if row["gpus"] is not None:
        memory = row["gpu_memory_gib"]
        return f"{row['gpus']}x{memory:g}" if row["gpus"] and memory else str(row["gpus"] or "none")
    if row["needs"] is None:
        return "not known"
    return (
        " ".join(f"{need['gpus']}x{need['gpu_memory_gb']}" for need in row["needs"]) or "more than one host"
    )


def _playbooks(folders: tuple[Path, ...]) -> Iterable[dict[str, Any]]:
    from orchestrator.base.data_folders import data_folders
    from orchestrator.base.errors import UsageError
    from orchestrator.playbook import playbook
    from orchestrator.playbook.names import files_in

    for name, path in files_in(data_folders("playbooks", folders)).items():
        try:  # a broken one is shown as such, and does not hide the others
            yield from (_playbook(each) for each in playbook.with_variants(path))
        except UsageError as error:
            title = f"broken: {error.message}"
            yield {"playbook": name, "file": str(path), "title": title, "error": error.message}


def _playbook(playbook: Playbook) -> dict[str, Any]:
    """One playbook, with what it weighs and needs."""
    from orchestrator.models.needs import needs

    wanted = needs(playbook) if playbook.choose else None
    return {
        "playbook": playbook.name,
        "file": str(playbook.source),
        "repository": playbook.model.repository,
        "title": playbook.description,
        "precision": playbook.model.precision,
        "weights_bytes": playbook.figures.weights_bytes,
        "engine": {"kind": playbook.engine.kind, "version": playbook.engine.version},
        "gpus": None if playbook.choose else playbook.gpus,
        "gpu_memory_gib": playbook.needs.gpu_memory_gib or None,
        "needs": None if wanted is None else [need.as_json() for need in wanted],
        "sources": [source.model_dump(mode="json") for source in playbook.sources],
    }


def _patches(folders: tuple[Path, ...]) -> Iterable[dict[str, Any]]:
    from orchestrator.base.data_folders import data_folders
    from orchestrator.patches import catalogue

    patches, broken = catalogue.survey(data_folders("patches", folders))
    for patch in sorted(patches, key=lambda patch: (patch.category, patch.id)):
        yield {
            "patch": patch.id,
            "category": patch.category,
            "title": patch.title,
            "engines": list(patch.engines),
        }
    for path, error in broken.items():
        yield {"patch": path.stem, "category": "broken", "title": error.message, "error": error.message}


def _titled(name: str, text: str) -> str:
    indent = " " * 26
    # a name longer than its column takes a line for itself
    first = f"{name:<26}" if len(name) < 26 else f"{name}\n{indent}"
    body = textwrap.wrap(text, WIDTH - len(indent), break_on_hyphens=False) or [""]
    return (first + f"\n{indent}".join(body)).rstrip()
