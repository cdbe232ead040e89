"""deploy show: what does this playbook or patch say?"""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli import complete

FOLDER = click.Path(file_okay=False, exists=True, path_type=Path)


@click.command("show", epilog="Example:  deploy show fp8-kv-mla")
@click.argument("name", metavar="ID", shell_complete=complete.ids)
@click.option("--playbooks", multiple=True, type=FOLDER, help="a folder of playbooks of your own")
@click.option("--patches", multiple=True, type=FOLDER, help="a folder of patches of your own")
@click.option("--json", "as_json", is_flag=True, help="one JSON object, defaults filled in")
def show(name: str, playbooks: tuple[Path, ...], patches: tuple[Path, ...], as_json: bool) -> None:
    """Show a playbook or a patch: its file, or as one JSON object what the program reads in it."""
    from orchestrator.base.data_folders import data_folders
    from orchestrator.base.errors import UsageError
    from orchestrator.base.yaml_file import text
    from orchestrator.playbook import playbook
    from orchestrator.report.json_lines import json_line
    from orchestrator.report.layout import passage

    patch = _patch_file(name, data_folders("patches", patches))
    try:
        loaded = playbook.find(name, data_folders("playbooks", playbooks))
    except UsageError as error:
        if error.code != "unknown_playbook":
            raise
        if patch is None:
            words = error.message.replace("no playbook", "neither a patch nor a playbook", 1)
            near = "" if "did you mean" in words else _near(name, data_folders("patches", patches))
            raise UsageError("unknown_id", f"{words}{near}") from None
        click.echo(_patch_json(patch) if as_json else passage(text(patch, code="invalid_patch").rstrip()))
        return
    if as_json:
        click.echo(json_line({"kind": "playbook", **loaded.model_dump(mode="json")}))
    else:
        assert loaded.source is not None  # it was read from a file
        click.echo(passage(text(loaded.source, code="invalid_playbook").rstrip()))


def _patch_file(name: str, folders: tuple[Path, ...]) -> Path | None:
    from orchestrator.on_host.files import regular_file
    from orchestrator.patches.files import files_of

    files = (path for folder in folders for path in files_of(folder) if path.name == f"{name}.yaml")
    return next((path for path in files if regular_file.is_one(path)), None)


def _near(name: str, folders: tuple[Path, ...]) -> str:
    from difflib import get_close_matches

    from orchestrator.patches.files import files_of

    near = get_close_matches(name, {path.stem for folder in folders for path in files_of(folder)}, n=1)
    return f"; did you mean the patch {near[0]}?" if near else ""


def _patch_json(path: Path) -> str:
    from orchestrator.base.yaml_file import load_model
    from orchestrator.patches.patch import Patch
    from orchestrator.report.json_lines import json_line

    patch = load_model(path, Patch, code="invalid_patch")
    return json_line({"kind": "patch", **patch.model_dump(mode="json")})
