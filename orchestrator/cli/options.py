"""Which options do the verbs share?"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from orchestrator.base.limits import Limits
from orchestrator.cli import complete, values


@dataclass(frozen=True)
class SharedOptions:
    """What every verb that talks to a host was given."""

    playbook: str
    """Its name or file, or the id of a model; "" where `model_dir` alone says what is deployed."""
    hosts: tuple[str, ...]
    as_one: bool
    """Whether the hosts serve one model together."""
    playbooks: tuple[Path, ...]
    patches: tuple[Path, ...]
    ssh_config: str | None
    accept_host_keys: tuple[str, ...]
    settings: tuple[str, ...]
    engine_args: tuple[str, ...]
    env: tuple[str, ...]
    model_dir: str | None
    name: str | None
    engine_version: str | None
    json: bool
    verbose: bool


FOLDER = click.Path(file_okay=False, exists=True, path_type=Path)
PLAYBOOK = click.argument("playbook", default="", shell_complete=complete.playbooks)
_HOST = functools.partial(
    click.option, "--host", "hosts", multiple=True, metavar="HOST", shell_complete=complete.hosts,
    help="alias, user@host:port, or local; several times = side by side",
)  # fmt: skip
_SSH = (
    click.option("--ssh-config", "-F", metavar="FILE", shell_complete=complete.files, help="instead of ~/.ssh/config"),
    click.option(
        "--accept-host-key", "accept_host_keys", multiple=True, metavar="SHA256:...",
        help="trust this unknown host key, and remember it",
    ),
)  # fmt: skip
_TELLING = (
    click.option("--json", is_flag=True, help="one JSON object a line on standard output"),
    click.option("-v", "--verbose", is_flag=True, help="show where an error came from"),
)
SHARED = (
    click.option("--as-one", is_flag=True, help="spread one model over all of these hosts; the first is its head"),
    click.option("--playbooks", multiple=True, type=FOLDER, help="a folder of playbooks of your own"),
    click.option("--patches", multiple=True, type=FOLDER, help="a folder of patches of your own"),
    *_SSH,
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="override a playbook key"),
    click.option(
        "--gpus", type=click.IntRange(1, 1024), metavar="N",
        help="spread each layer over so many GPUs (--set parallel.tensor=N)",
    ),
    click.option("--engine-arg", "engine_args", multiple=True, metavar="ARG", help="one more argument for the engine"),
    click.option("--env", multiple=True, metavar="NAME=VALUE", help="one more environment variable"),
    click.option("--model-dir", metavar="DIR", help="the checkpoint's folder on the host; no PLAYBOOK is needed then"),
    click.option(
        "--name", metavar="NAME", callback=values.name,
        help="the deployment's name on the host, instead of the playbook's: several live side by side",
    ),
    click.option(
        "--vllm-version", "--vllm", "--engine-version", "engine_version", metavar="VERSION",
        callback=values.version, help="take this for the version of the host's engine",
    ),
    *_TELLING,
)  # fmt: skip


@dataclass(frozen=True)
class ReachedHosts:
    """Which hosts a verb without a playbook was given, how they are reached, and how it is told."""

    hosts: tuple[str, ...]
    ssh_config: str | None
    accept_host_keys: tuple[str, ...]
    json: bool
    verbose: bool


def reaching_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb without a playbook the options that lead to hosts; they reach it as one `ReachedHosts` value."""

    @functools.wraps(verb)
    def call(**given: Any) -> Any:
        reached = {name: given.pop(name) for name in ReachedHosts.__dataclass_fields__}
        return verb(ReachedHosts(**reached), **given)

    for decorate in reversed((_HOST(required=True), *_SSH, *_TELLING)):
        call = decorate(call)
    return call


def shared_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the shared options; they reach it as one `SharedOptions` value, its own as keywords."""
    return _sharing(verb, _HOST(required=True))


def planning_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a verb that can do without a host: it is given one, or its cards, or its facts."""
    return _sharing(verb, *PLANNED_FOR)


def _sharing(verb: Callable[..., Any], *host: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(verb)
    def call(**given: Any) -> Any:
        names = SharedOptions.__dataclass_fields__
        if (gpus := given.pop("gpus")) is not None:
            given["settings"] = (f"parallel.tensor={gpus}", *given["settings"])  # an error leads to --set
        if not given["playbook"] and given["model_dir"] is None:
            context = click.get_current_context()
            raise click.MissingParameter(ctx=context, param_hint="'PLAYBOOK'", param_type="argument")
        shared = {name: given.pop(name) for name in names}
        return verb(SharedOptions(**shared), **given)

    for decorate in reversed((PLAYBOOK, *host, *SHARED)):
        call = decorate(call)
    return call


def repairing_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Options of the verbs that plan or carry out repairs; they reach the verb as wishes by keyword."""

    @functools.wraps(verb)
    def call(*arguments: Any, **given: Any) -> Any:
        from orchestrator.base.limits import Limits

        limits = Limits(given.pop("max_attempts"), given.pop("timeout"))
        return verb(*arguments, limits=limits, predict=not given.pop("no_predict"), **given)

    for decorate in reversed(REPAIRING):
        call = decorate(call)
    return call


def acting_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Options of the verbs that may be asked only to say what they would do."""
    return click.option("--dry-run", is_flag=True, help="show the plan, change nothing")(verb)


PLANNED_FOR = (
    _HOST(required=False),
    click.option(
        "--gpu", metavar="[COUNTx]NAME", shell_complete=complete.gpus,
        help="instead of a host: its cards, as in '8xRTX PRO 6000'",
    ),
    click.option(
        "--facts", metavar="FILE", shell_complete=complete.files,
        help="instead of a host: what `deploy doctor --save` wrote of it",
    ),
)  # fmt: skip
CONSENT = click.option(
    "--consent", "consents", multiple=True, metavar="NAME", shell_complete=complete.consents, callback=values.consents,
    help="give a consent",
)  # fmt: skip
REPAIRING = (
    click.option(
        "--patch", "forced", multiple=True, metavar="ID", shell_complete=complete.patches,
        help="apply this patch though nothing asks for it",
    ),
    click.option(
        "--no-patch", "forbidden", multiple=True, metavar="ID", shell_complete=complete.patches,
        help="never apply this patch",
    ),
    click.option("--no-predict", is_flag=True, help="apply nothing before a failure was seen"),
    CONSENT,
    click.option("--yes", "-y", is_flag=True, help="give every consent that the playbook needs"),
    click.option(
        "--max-attempts", type=click.IntRange(1, values.MOST_ATTEMPTS), default=Limits.max_attempts, show_default=True, metavar="N",
        help="launches of one incident",
    ),
    click.option(
        "--timeout", type=values.Seconds(least=0.001), metavar="SECONDS",
        help="how long a launch may take, instead of the playbook's ready_timeout",
    ),
)  # fmt: skip
