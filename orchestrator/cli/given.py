"""What was a command given, and which job is that on one host?"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.base.errors import CheckpointError, UsageError
from orchestrator.cli.options import SharedOptions
from orchestrator.on_host.secrets.secrets import brief

if TYPE_CHECKING:
    from orchestrator.base.events import Report
    from orchestrator.base.limits import Limits
    from orchestrator.hosts.host import Host
    from orchestrator.job import Job
    from orchestrator.models.published import Published
    from orchestrator.plan.wishes import Wishes
    from orchestrator.playbook.playbook import Playbook


@dataclass(frozen=True)
class Sought:
    """The playbook, and of a model without one what the Hub says of it, or why that could not be read (`unread`)."""

    playbook: Playbook
    published: Published | None = None
    unread: CheckpointError | None = None


@dataclass(frozen=True)
class Given:
    """The same on every host: what it was given, from where it is known what would be launched, and what is wished for beside
    it; `limits` are None for a verb that launches nothing."""

    options: SharedOptions
    sought: Sought
    wishes: Wishes
    limits: Limits | None

    def job(
        self,
        host: Host,
        playbook: Playbook,
        report: Report,
        command: Callable[[str], str],
        *,
        ask: Callable[[str], bool] | None = None,
        lasting: bool = True,
    ) -> Job:
        """On this host, by a playbook that may have more of its own; `command`, `ask` and `lasting` are those of a `Job`."""
        from orchestrator.base.limits import Limits
        from orchestrator.job import Job

        options, sought = self.options, self.sought
        if options.model_dir:
            playbook = playbook.in_folder(folder_of(options.model_dir, local=host.name == "local"))
        return Job(
            host, playbook, report, self.wishes, command, self.limits or Limits(), ask, lasting=lasting,
            published=sought.published, unread=sought.unread, reopen=partial(connected, options, host.name),
        )  # fmt: skip


def connected(options: SharedOptions, name: str) -> Host:
    """A connection to a host, as the options lead to it."""
    from orchestrator.hosts.connect import open_host

    return open_host(name, ssh_config=options.ssh_config, accept_host_keys=options.accept_host_keys)


def folder_of(folder: str, *, local: bool) -> str:
    """A relative folder is meant from here on this machine, from the home folder on another."""
    if re.search(r"[\0\r\n]", folder):
        raise UsageError(
            "invalid_option",
            f"--model-dir {brief(folder, 60)!r} is no folder; allowed: a path on one line, without NUL characters",
            verb="up",
        )
    if local:
        try:
            return str(Path(folder).expanduser().absolute())
        except RuntimeError:
            raise UsageError(
                "invalid_option",
                f"--model-dir {brief(folder, 60)!r} is no folder: it is in the home folder of nobody here",
                verb="up",
            ) from None
    return folder if folder.startswith(("/", "~")) else f"~/{folder}"
