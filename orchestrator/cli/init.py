"""`deploy init ORG/NAME --host H`: the playbook of a model that has none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli import complete
from orchestrator.cli.options import SharedOptions, planning_options, repairing_options

if TYPE_CHECKING:
    from orchestrator.loop.reading import Reading


@click.command(epilog="Example:  deploy init Qwen/Qwen3-8B --host 10.1.230.174")
@planning_options
@repairing_options
@click.option(
    "--output", "-o", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), shell_complete=complete.files,
    help="where to write it; - is standard output; without it a file named after the model",
)  # fmt: skip
def init(
    options: SharedOptions, gpu: str | None, facts: str | None, output: Path | None, **wishes: Any
) -> int:
    """Write the playbook by which a model of the Hub, or of a folder (--model-dir), would be launched on a host.

    Each value that was chosen has its reason beside it. The file is yours from then on: deploy it by its path, or
    put it into ~/.config/deploy/playbooks. Needs no host where --gpu names the cards, or --facts a file.
    """
    from orchestrator.base.errors import UsageError
    from orchestrator.cli.offline import looking
    from orchestrator.models.identity import is_model

    if options.playbook and not is_model(options.playbook):
        raise UsageError(
            "not_a_model",
            f"{options.playbook[:80]!r} is no model of the Hub; allowed: ORGANISATION/NAME",
            playbook=options.playbook,
        )
    if len(options.hosts) > 1:
        raise UsageError(
            "invalid_option", "a playbook is chosen for one host; allowed: one --host", verb="init"
        )

    def work(reading: Reading) -> int:
        from orchestrator.models.choose import foreseen
        from orchestrator.models.figures import figured
        from orchestrator.models.written import as_yaml

        plan, published = reading.plan(), reading.job.published
        survey = foreseen(plan.survey, published) if published else plan.survey
        whole = figured(plan.playbook, survey.checkpoint, plan.version)
        text = as_yaml(whole, plan.choices, published, reading.job.host.name)
        path = output or Path(f"{plan.playbook.name}.yaml")
        if path == Path("-"):
            click.echo(text, nl=False)
            return 0
        _write(path, text)
        _tell(path, as_json=options.json)
        return 0

    return looking(options, work, verb="init", gpu=gpu, facts=facts, **wishes)


def _write(path: Path, text: str) -> None:
    """Into a new file: what is there may have been written by hand."""
    from orchestrator.base.errors import UsageError

    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError("file_exists", f"{path} is there already, and stays as it is") from None
    except OSError as error:
        raise UsageError("invalid_option", f"--output {path}: {error.strerror}", verb="init") from None


def _tell(path: Path, *, as_json: bool) -> None:
    from orchestrator.report.json_lines import json_line

    click.echo(json_line({"playbook": str(path)}) if as_json else str(path))
