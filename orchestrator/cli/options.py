"""Which options do the verbs share?"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from orchestrator.base.limits import Limits
from orchestrator.cli import complete, values
from orchestrator.cli.breadth import AT_ONCE, Breadth


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
    breadth: Breadth = field(default_factory=Breadth)


FOLDER = click.Path(file_okay=False, exists=True, path_type=Path)
PLAYBOOK = click.argument("playbook", default="", shell_complete=complete.playbooks)
HOSTS = (
    click.option(
        "--host", "hosts", multiple=True, metavar="HOST", shell_complete=complete.hosts,
        help="alias, user@host:port, or local; several times, or gpu[01-16] = side by side",
    ),
    click.option(
        "--hosts", "listed", metavar="FILE|GROUP", shell_complete=complete.groups,
        help="those of a file (one a line), of a group in config.yaml, or of a list",
    ),
    click.option(
        "--parallel", "at_once", type=click.IntRange(1, 1000), default=AT_ONCE, show_default=True, metavar="N",
        help="so many hosts at work at once",
    ),
    click.option("--fail-fast", is_flag=True, help="begin on no further host once one has failed"),
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
    breadth: Breadth


def named_hosts(given: dict[str, Any], *, required: bool) -> None:
    """Put what `HOSTS` were given together: `hosts`, each once in their order, and the `breadth`."""
    from orchestrator.hosts.ranges import expanded

    names = [name for text in given["hosts"] for name in expanded(text)]
    if (listed := given.pop("listed")) is not None:
        from orchestrator.hosts import inventory

        names += inventory.listed(listed)
    if required and not names:
        raise click.MissingParameter(
            ctx=click.get_current_context(), param_hint="'--host'", param_type="option"
        )
    given["hosts"] = tuple(dict.fromkeys(names))
    given["breadth"] = Breadth(given.pop("at_once"), given.pop("fail_fast"))


def reaching_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb without a playbook the options that lead to hosts; they reach it as one `ReachedHosts` value."""

    @functools.wraps(verb)
    def call(**given: Any) -> Any:
        named_hosts(given, required=True)
        reached = {name: given.pop(name) for name in ReachedHosts.__dataclass_fields__}
        return verb(ReachedHosts(**reached), **given)

    for decorate in reversed((*HOSTS, *_SSH, *_TELLING)):
        call = decorate(call)
    return call


def hosts_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb with options of its own those that name hosts; they reach it as `hosts` and `breadth`."""

    @functools.wraps(verb)
    def call(**given: Any) -> Any:
        named_hosts(given, required=False)
        return verb(**given)

    for decorate in reversed(HOSTS):
        call = decorate(call)
    return call


def shared_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the shared options; they reach it as one `SharedOptions` value, its own as keywords."""
    return _sharing(verb, *HOSTS, required=True)


def planning_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a verb that can do without a host: it is given one, or its cards, or its facts."""
    return _sharing(verb, *PLANNED_FOR, required=False)


def _sharing(verb: Callable[..., Any], *host: Callable[..., Any], required: bool) -> Callable[..., Any]:
    @functools.wraps(verb)
    def call(**given: Any) -> Any:
        names = SharedOptions.__dataclass_fields__
        if (gpus := given.pop("gpus")) is not None:
            given["settings"] = (f"parallel.tensor={gpus}", *given["settings"])  # an error leads to --set
        if not given["playbook"] and given["model_dir"] is None:
            context = click.get_current_context()
            raise click.MissingParameter(ctx=context, param_hint="'PLAYBOOK'", param_type="argument")
        named_hosts(given, required=required)
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
    *HOSTS,
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
