"""How does a verb get from its options to a deployment on each host?"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.cli.options import Options
from orchestrator.errors import DeployError, UsageError

if TYPE_CHECKING:
    from orchestrator.deployment import Deployment, Limits
    from orchestrator.plan import Wishes
    from orchestrator.playbook import Playbook
    from orchestrator.report.events import Report

Work = Callable[["Deployment"], "int | None"]


def on_each_host(
    options: Options,
    work: Work,
    *,
    limits: Limits | None = None,
    forced: tuple[str, ...] = (),
    forbidden: tuple[str, ...] = (),
    predict: bool = True,
    consents: tuple[str, ...] = (),
    yes: bool = False,
) -> int:
    """Carry `work` out on every host, several side by side; gives the highest exit code."""
    from orchestrator.plan import Wishes
    from orchestrator.remedy import catalogue

    playbook = find_playbook(options)
    patches = catalogue.load_all(options.patches)
    known = {patch.id for patch in patches}
    for patch_id in (*forced, *forbidden):
        if patch_id not in known:
            raise UsageError(
                "unknown_patch", f"there is no patch {patch_id!r}", next_command="deploy list patches"
            )
    wishes = Wishes(
        patches=patches,
        forced=forced,
        forbidden=forbidden,
        predict=predict,
        consents=(*consents, *(playbook.needed_consents if yes else ())),
        vllm_version=options.vllm_version,
    )
    if len(options.hosts) == 1:
        return _on_host(options, options.hosts[0], playbook, wishes, limits, work)
    return _side_by_side(options, playbook, wishes, limits, work)


def find_playbook(options: Options) -> Playbook:
    """The playbook with this command's overrides.

    A consent to run the checkpoint's code was given for a repository and revision: it does not carry over to
    another one that an option names.
    """
    from orchestrator import playbook as playbooks
    from orchestrator.cli.main import COMMANDS
    from orchestrator.data_folders import data_folders

    try:
        written = playbooks.find(options.playbook, data_folders("playbooks", options.playbooks))
    except UsageError as error:
        import difflib

        near = difflib.get_close_matches(options.playbook, COMMANDS, n=1)
        if error.code == "unknown_playbook" and near:
            error.message += f"; or did you mean the command {near[0]}?"
        raise
    asked = written.with_overrides(options.settings, options.engine_args, options.env, ambient=os.environ)
    if asked.model != written.model:
        kept = tuple(consent for consent in asked.consents if consent != "trust-remote-code")
        asked = asked.model_copy(update={"consents": kept})
    return asked


def _on_host(
    options: Options,
    name: str,
    playbook: Playbook,
    wishes: Wishes,
    limits: Limits | None,
    work: Work,
) -> int:
    from orchestrator.deployment import Deployment
    from orchestrator.ssh.connect import open_host

    report = _report(options, name)
    if options.model_dir:
        folder = _folder(options.model_dir, local=name == "local")
        checkpoint = playbook.checkpoint.model_copy(update={"folder": folder})
        playbook = playbook.model_copy(update={"checkpoint": checkpoint})
    with open_host(name, ssh_config=options.ssh_config, accept_host_keys=options.accept_host_keys) as host:
        host.other_python = playbook.engine.python
        deployment = Deployment(host, playbook, report, wishes, limits=limits, ask=_asker(options))
        return work(deployment) or 0


def _folder(given: str, *, local: bool) -> str:
    """A relative folder is meant from here on this machine, from the home folder on another."""
    if local:
        return str(Path(given).expanduser().absolute())
    return given if given.startswith(("/", "~")) else f"~/{given}"


def _side_by_side(
    options: Options, playbook: Playbook, wishes: Wishes, limits: Limits | None, work: Work
) -> int:
    """One thread a host; each failure is told as it happens, and the highest code wins."""
    from orchestrator.cli.main import tell

    codes: list[int] = []

    def run(name: str) -> None:
        try:
            codes.append(_on_host(options, name, playbook, replace(wishes), limits, work))
        except DeployError as error:
            tell(error, as_json=options.json, host=name)
            codes.append(error.exit_code)
        except BaseException:
            codes.append(1)
            raise

    threads = [threading.Thread(target=run, args=(name,), daemon=True) for name in options.hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(codes)


def _report(options: Options, host: str) -> Report:
    from orchestrator.report.events import Report
    from orchestrator.report.json_lines import JsonLines
    from orchestrator.report.plain import PlainLines

    if options.json:
        return Report(JsonLines(sys.stdout), host)
    return Report(PlainLines(sys.stdout, several_hosts=len(options.hosts) > 1), host)


def _asker(options: Options) -> Callable[[str], bool] | None:
    """Ask where a person sits at a terminal and one host is concerned."""
    if options.json or len(options.hosts) > 1 or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return lambda question: click.confirm(question, err=True)
