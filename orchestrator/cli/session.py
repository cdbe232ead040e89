"""How does a verb get from its options to a deployment on each host?"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, TextIO

from orchestrator.base.errors import CheckpointError, DeployError, UsageError
from orchestrator.cli import as_one
from orchestrator.cli.asking import asker_of
from orchestrator.cli.given import Given, Sought, connected, folder_of
from orchestrator.cli.options import SharedOptions
from orchestrator.cli.several import DONE, side_by_side
from orchestrator.on_host.secrets.secrets import redact, remember

if TYPE_CHECKING:
    from orchestrator.base.events import Display, Report
    from orchestrator.base.limits import Limits
    from orchestrator.hosts.host import Host
    from orchestrator.job import Job
    from orchestrator.loop.deployment import Deployment
    from orchestrator.plan.wishes import Wishes
    from orchestrator.playbook.playbook import Playbook
    from orchestrator.report.outcomes import HostEnd

Verb = Callable[["Deployment"], "int | None"]
Sourcing = Callable[[SharedOptions, tuple[str, ...]], Sought]
"""From where it is known what would be launched, by a command with these consents."""

CONNECT_SECONDS = 30.0
"""Three times the ten seconds that `open_host` gives to each of connecting, keys and authentication of a hop."""


def on_each_host(
    options: SharedOptions,
    work: Verb,
    *,
    limits: Limits | None = None,
    forced: tuple[str, ...] = (),
    forbidden: tuple[str, ...] = (),
    predict: bool = True,
    consents: tuple[str, ...] = (),
    yes: bool = False,
    report_to: TextIO | None = None,
    source: Sourcing | None = None,
    whole: bool = False,
    as_far_as_reached: bool = False,
    needs_patches: bool = True,
    words: Mapping[int, str] = DONE,
    closing: Callable[[Sequence[HostEnd]], None] | None = None,
) -> int:
    """Carry `work` out on every host, several side by side; gives the highest exit code.

    Hosts that serve one model together are one deployment, of which `work` is done once where it is for the `whole`, else for each host;
    `as_far_as_reached`: it is done though some of them cannot be reached; `needs_patches` False: it neither plans nor diagnoses anything.
    `limits` are those of verbs that plan a launch: of a model without a playbook they ask the Hub, before any host, unless
    another `source` is named. What happens is told on standard output, or to `report_to` by a verb whose standard output is data.
    Of several hosts `words` says what an exit code means; the last word has `closing`, else a summary.
    """
    source = source or (by_the_host if limits is None else launched_by)
    sought = source(options, consents)
    together = as_one.wanted(sought.playbook, options.hosts, asked=options.as_one)
    wishes = wishes_of(options, forced, forbidden, predict, consents, yes=yes, needs_patches=needs_patches)
    from orchestrator.report.choose import display

    several = len(options.hosts) > 1
    as_json = options.json and report_to is None
    hosts = len(options.hosts)
    with display(report_to or sys.stdout, as_json=as_json, hosts=hosts, as_one=together) as shown:
        command = _Command(Given(options, sought, wishes, limits), work, shown)
        if together:
            return _on_all(command, whole=whole, as_far_as_reached=as_far_as_reached)
        if not several:
            return _on_host(command, options.hosts[0])
        if options.json and report_to is not None and closing is None:
            closing = partial(_summarised, sought.playbook.instance)
        return side_by_side(
            options.hosts, sought.playbook.instance, lambda name: _on_host(command, name), shown,
            as_json=options.json, breadth=options.breadth, words=words, closing=closing,
        )  # fmt: skip


def _summarised(instance: str, ends: Sequence[HostEnd]) -> None:
    """The last line of a verb whose standard output has a JSON object a host."""
    from orchestrator.base.events import Report
    from orchestrator.report.json_lines import JsonLines
    from orchestrator.report.outcomes import groups_json, in_groups

    report = Report(JsonLines(sys.stdout), "", instance)
    report.emit("summary", in_groups(ends), outcomes=groups_json(ends))


@dataclass(frozen=True)
class _Command:
    """What is to be done on each host, and where it is shown."""

    given: Given
    work: Verb
    shown: Display

    @property
    def options(self) -> SharedOptions:
        return self.given.options

    @property
    def playbook(self) -> Playbook:
        return self.given.sought.playbook


def wishes_of(
    options: SharedOptions,
    forced: tuple[str, ...] = (),
    forbidden: tuple[str, ...] = (),
    predict: bool = True,
    consents: tuple[str, ...] = (),
    *,
    yes: bool = False,
    needs_patches: bool = True,
) -> Wishes:
    """What this command asks for beside the playbook; raises UsageError("unknown_patch").

    Reading the catalogue takes a sixth of the processor time of a command that only looks at a host.
    """
    from orchestrator.patches import catalogue
    from orchestrator.plan.wishes import Wishes

    patches = catalogue.load_all(options.patches) if needs_patches else ()
    known = {patch.id for patch in patches}
    for patch_id in (*forced, *forbidden):
        if patch_id not in known:
            raise UsageError("unknown_patch", f"there is no patch {patch_id!r}")
    return Wishes(
        patches=patches,
        forced=forced,
        forbidden=forbidden,
        predict=predict,
        consents=consents,
        engine_version=options.engine_version,
        yes=yes,
        other_folder=options.model_dir is not None
        or any(setting.startswith("checkpoint") for setting in options.settings),
    )


def find_playbook(options: SharedOptions) -> Playbook:
    """The playbook with this command's overrides.

    A consent to run the checkpoint's code was given for a repository, a revision and the place that they come from: it
    does not carry over to others that an option names.
    """
    from orchestrator.base.data_folders import data_folders
    from orchestrator.cli.main import COMMANDS
    from orchestrator.models.identity import deployment_in, deployment_of, is_model
    from orchestrator.playbook import playbook as playbooks

    try:
        if not options.playbook:
            here = options.hosts == ("local",)
            written = deployment_in(folder_of(options.model_dir or "", local=here))
        elif is_model(options.playbook):
            written = deployment_of(options.playbook)
        else:
            written = playbooks.find(options.playbook, data_folders("playbooks", options.playbooks))
    except UsageError as error:
        import difflib

        near = difflib.get_close_matches(options.playbook, COMMANDS, n=1)
        if error.code == "unknown_playbook" and near:
            error.message += f"; or did you mean the command {near[0]}?"
        raise
    try:
        playbook = written.with_overrides(
            options.settings, options.engine_args, options.env, ambient=os.environ
        )
    except UsageError as error:
        error.known.setdefault(*_asked_about(options))
        raise
    if options.name:
        playbook = playbook.as_instance(options.name)
    _know_secrets(playbook, options.hosts)
    if _source(playbook) != _source(written):
        kept = tuple(consent for consent in playbook.consents if consent != "trust-remote-code")
        playbook = playbook.model_copy(update={"consents": kept})
    return playbook


def launched_by(options: SharedOptions, consents: tuple[str, ...]) -> Sought:
    """What a launch is planned from: the playbook, or a model without one and what the Hub, or the mirror that this command
    names, says of it. Where that does not answer, what lies on the host may do."""
    from orchestrator.models.identity import is_model

    playbook = find_playbook(options)
    repository = playbook.model.repository
    if not is_model(options.playbook) or repository is None:
        return Sought(playbook)

    from orchestrator.models import hub

    given = {name: item.plain for name, item in playbook.environment.items() if name.startswith("HF_")}
    token_consent = "token-to-endpoint" in consents
    try:
        published = hub.read(
            repository, playbook.model.revision, {**os.environ, **given}, token_consent=token_consent
        )
    except CheckpointError as error:
        if error.code != "hub_unread":
            raise
        return Sought(playbook, unread=error)

    from orchestrator.models.choose import (
        before_any_host,
    )  # all of planning, which a wrong id does not wait for

    return Sought(before_any_host(playbook, published), published)


def by_the_host(options: SharedOptions, _consents: tuple[str, ...]) -> Sought:
    """For what is there already: of a model without a playbook the files on the host say enough, and the Hub is not asked."""
    return Sought(find_playbook(options))


def _asked_about(options: SharedOptions) -> tuple[str, str]:
    """What an error knows for its next command: the playbook that can be shown, or where there is none the verb."""
    from orchestrator.models.identity import is_model

    if not options.playbook or is_model(options.playbook):
        return "verb", "up"
    return "playbook", options.playbook


def _source(playbook: Playbook) -> tuple[object, ...]:
    endpoint = playbook.environment.get("HF_ENDPOINT")
    model = playbook.model
    return model.repository, model.revision, endpoint.plain if endpoint else None


def _know_secrets(playbook: Playbook, hosts: Sequence[str]) -> None:
    """From here on no output holds the secrets of this command, whoever repeats them."""
    from pydantic import SecretStr

    for setting in playbook.environment.values():
        if isinstance(setting.value, SecretStr):
            remember(setting.plain)
    know_passwords(hosts)


def know_passwords(hosts: Sequence[str]) -> None:
    """user:password@host is no target of ssh, and is typed all the same."""
    for host in hosts:
        remember(host.rpartition("@")[0].partition(":")[2])


def _on_host(command: _Command, name: str) -> int:
    from orchestrator.cli.typed import again

    asked = again(command.options, name)
    with _led_on(command, asked):
        return _carry_out(command, name, asked)


@contextmanager
def _led_on(command: _Command, asked: str) -> Iterator[None]:
    """Have errors know by which words the deployment was asked for, and so which command comes next."""
    try:
        yield
    except Exception as error:  # a mistake of ours may leave a launch alive, and says then how it is ended
        vars(error)["asked"] = asked
        if isinstance(error, DeployError):
            error.known.setdefault(*_asked_about(command.options))
        raise


def _carry_out(command: _Command, name: str, asked: str) -> int:
    from orchestrator.base.events import Report

    report = Report(command.shown, name, command.playbook.instance)
    with _opened(command, name, report) as host:
        from orchestrator.group.group import Group
        from orchestrator.loop.deployment import Deployment

        job = _job(command, host, command.playbook, report, asked)
        return command.work(Deployment(Group.of(job))) or 0


def _on_all(command: _Command, *, whole: bool, as_far_as_reached: bool) -> int:
    """One deployment on all of the hosts."""
    from orchestrator.base.events import Report
    from orchestrator.cli.typed import again

    names = command.options.hosts
    asked = again(command.options, *names)
    instance = command.playbook.instance
    reports = {name: Report(command.shown, name, instance) for name in names}
    with _led_on(command, asked), ExitStack() as stack:
        deployment = as_one.deployment_on(
            names,
            lambda name: _opened(command, name, reports[name]),
            command.playbook,
            lambda host, playbook, spread, by_rank: replace(
                _job(command, host, playbook, reports[host.name], asked),
                spread=tuple(spread),
                group=tuple(map(redact, by_rank)),
            ),
            stack,
            launches=command.given.limits is not None,
            as_far_as_reached=as_far_as_reached,
            at_once=command.options.breadth.at_once,
        )
        parts = (deployment,) if whole else deployment.alone
        return max(command.work(part) or 0 for part in parts)


def _opened(command: _Command, name: str, report: Report) -> Host:
    with report.wait("connect", f"to {name}", limit=CONNECT_SECONDS):
        # Imported while the host is waited for; the import below waits for this one to end.
        threading.Thread(target=import_module, args=("orchestrator.loop.deployment",), daemon=True).start()
        host = connected(command.options, name)
    host.other_python = command.playbook.engine.interpreter
    return host


def _job(command: _Command, host: Host, playbook: Playbook, report: Report, asked: str) -> Job:
    from orchestrator.cli.hints import command_for

    options = command.options
    asker = asker_of((host.name,) if playbook.node else options.hosts, command.shown, as_json=options.json)
    return command.given.job(host, playbook, report, command_for(asked), ask=asker)
