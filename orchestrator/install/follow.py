"""How is the making of an environment on the host started, joined and followed to its end?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from orchestrator.base.amounts import decimal
from orchestrator.base.errors import DeployError
from orchestrator.base.events import Report, StepReport
from orchestrator.hosts.host import Host
from orchestrator.install.failure import failure
from orchestrator.install.installation import Installation
from orchestrator.install.uv_here import uv_for
from orchestrator.install.wheels import send, wheels_of
from orchestrator.programs.ask import ask
from orchestrator.programs.errand import FailedErrand, standings
from orchestrator.programs.install_engine import (
    InstalledNow,
    InstallProgress,
    InstallStanding,
    InstallStatus,
    StartInstall,
)

PYPI = "https://pypi.org/simple"


def install(
    host: Host,
    report: Report,
    installation: Installation,
    *,
    instance: str | None = None,
    proceed: Callable[[], None] = lambda: None,
) -> InstalledNow:
    """Make the environment; one that is being made, for whichever deployment, is waited for.

    `instance` is the deployment that asks for it, if one does. Interrupting this leaves the host at it, and so does
    `proceed` where it raises. A host that gets no uv is sent one, where this machine gets it. Raises PreflightRefused with the
    reason, and what `wheels.send` raises.
    """
    files = wheels_of(Path(installation.wheels).expanduser()) if installation.wheels else ()
    if files:
        send(host, report, installation.pinned, files)
    outcome = _made(host, report, installation, instance, proceed)
    if isinstance(outcome, InstalledNow):
        return outcome
    with report.wait("uv", f"{host.name} gets none: looking for it here"):
        tool = uv_for(host)
    if tool is None:
        raise outcome
    send(host, report, installation.pinned, (*files, tool))
    outcome = _made(host, report, installation, instance, proceed)
    if isinstance(outcome, InstalledNow):
        return outcome
    raise outcome


def _made(
    host: Host,
    report: Report,
    installation: Installation,
    instance: str | None,
    proceed: Callable[[], None],
) -> InstalledNow | DeployError:
    """Start or join it, and follow it to its end; gives the error of a host that gets no uv, raises any other."""
    pinned = installation.pinned

    def failed(code: str, message: str) -> DeployError:
        index = (installation.indexes or (PYPI,))[0].rstrip("/")
        folder = installation.wheels
        return failure(code, message, pinned, host.name, room=first.room, index=index, wheels=folder)

    with report.step("install", f"{pinned} into {pinned.folder}") as step:
        first = _start(host, installation, instance)
        status, shown = InstallStatus(engine=pinned.name, version=pinned.version), ""
        for answer in standings(first, lambda: ask(host, status), proceed):
            line = answer.last
            if isinstance(line, FailedErrand):
                error = failed(line.error.code, line.error.message)
                if error.code != "uv_missing":
                    raise error
                step.state, step.done = "skipped", "no uv is to be had there"
                return error
            if isinstance(line, InstalledNow) and not answer.goes_on:
                there = "" if line.made else ", was there"
                step.done = f"{pinned.name} {line.version} on Python {line.python}{there}"
                step.data = {"engine": pinned.name, "version": line.version, "made": line.made}
                return line
            if isinstance(line, InstallProgress) and line.line != shown:
                shown = line.line
                _tell(step, line)
        raise failed("install_failed", f"the installation ended without a word; see {first.room}")


def _start(host: Host, installation: Installation, instance: str | None) -> InstallStanding:
    pinned, kind = installation.pinned, installation.kind
    request = StartInstall(
        instance=instance,
        engine=pinned.name,
        version=pinned.version,
        module=kind.package.module,
        pythons=kind.distribution.pythons,
        left_out=kind.distribution.left_out.get(pinned.name, ()),
        also=kind.distribution.also.get(pinned.name),
        pages=kind.distribution.pages.get(pinned.name, ()),
        indexes=installation.indexes,
        from_wheels=installation.wheels is not None,
        likely_bytes=installation.likely_bytes,
    )
    return ask(host, request, deadline=60.0)


def _tell(step: StepReport, line: InstallProgress) -> None:
    """What uv says; while it fetches how much of that is there, as far as it has said how large it is: the names of a hundred
    wheels would be as many lines."""
    if not line.total:
        step.progress(f"{line.phase}: {line.line}", phase=line.phase)
        return
    done = line.bytes or 0
    text = f"{line.phase}: {decimal(done)} of {decimal(line.total)}"
    step.progress(text, phase=line.phase, bytes=done, total=line.total)
