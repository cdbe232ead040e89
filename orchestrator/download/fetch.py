"""How is a download on the host started, joined and followed to its end?"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from orchestrator.base import hub_login
from orchestrator.base.amounts import decimal
from orchestrator.base.errors import DeployError, Locked
from orchestrator.base.events import StepReport
from orchestrator.download.exchange import Supply
from orchestrator.download.failure import Source, failure
from orchestrator.group.ways import sources
from orchestrator.job import Job
from orchestrator.on_host.secrets.hub_token import HUB
from orchestrator.playbook.playbook import Playbook
from orchestrator.programs.ask import ask
from orchestrator.programs.download import (
    DownloadHolder,
    DownloadProgress,
    DownloadStanding,
    DownloadStatus,
    Fetched,
    StartDownload,
)
from orchestrator.programs.errand import FailedErrand, standings
from orchestrator.survey.survey import Survey

DOWNLOAD_CODES = (
    "checkpoint_busy", "checkpoint_folder", "disk_full", "download_failed", "foreign_files", "foreign_folder", "hub_auth", "hub_gated",
    "hub_missing", "hub_not_found", "hub_token_withheld", "hub_unreachable", "not_started", "permission",
)  # fmt: skip


def fetch(
    job: Job,
    survey: Survey,
    proceed: Callable[[], None] = lambda: None,
    *,
    supply: Supply | None = None,
    known: Callable[[], None] = lambda: None,
) -> Fetched:
    """Fetch what the folder lacks; a download that is under way is joined, not started again.

    `supply` is what other hosts give; `known` is called once it is known which files there are. Interrupting this leaves the download running, and so does `proceed` where it raises. Raises CheckpointError with the Hub's or the disk's reason,
    PreflightRefused where files or a folder of somebody else are in the way, Locked where the running download
    is of something else.
    """
    playbook = job.playbook
    endpoint = _endpoint(playbook)
    assert playbook.model.repository is not None  # without one no step fetches
    source = Source(
        playbook=job.name,
        host=job.host.name,
        repository=playbook.model.repository,
        folder=survey.checkpoint.folder,
        endpoint=endpoint or survey.hf_endpoint or HUB,
        python=survey.engine.executable if survey.engine else playbook.engine.interpreter,
    )
    with job.report.step("download", f"asking {_asked(supply)} for {source.repository}") as step:
        first = _start(job, survey, source, endpoint, supply)
        if first.state == "running":
            _require_the_same(first.holder or DownloadHolder(), playbook, source)
        started = time.monotonic()
        for answer in standings(first, lambda: ask(job.host, DownloadStatus(instance=job.name)), proceed):
            value = answer.last
            if isinstance(value, FailedErrand):
                raise failure(value.error.code, value.error.message, source)
            if isinstance(value, (Fetched, DownloadProgress)):
                known()
            if isinstance(value, Fetched):
                _tell_end(job, step, value, supply)
                return value
            if isinstance(value, DownloadProgress) and value.total:
                _tell(step, value, time.monotonic() - started)
        raise failure("download_failed", f"the download ended without a word; see {first.room}", source)


def _asked(supply: Supply | None) -> str:
    if supply is None:
        return "the Hub"
    return supply.same_as or supply.peers[0].name


def _tell_end(job: Job, step: StepReport, value: Fetched, supply: Supply | None) -> None:
    step.done = f"{decimal(value.bytes)}, {value.fetched} of {value.files} files fetched"
    step.data = {"commit": value.commit, "files": value.files, "fetched": value.fetched}
    if supply and supply.same_as:
        step.done += f", the folder is that of {supply.same_as}"
        step.data["same_as"] = supply.same_as
    if value.given:
        step.done += f", {decimal(sum(value.given.values()))} from {sources(value.given)}"
        step.data["given"] = dict(value.given)
    if value.kept:
        kept = f"{', '.join(value.kept)} differ from the repository's: they were edited there and stay"
        job.report.emit("warning", kept, kept=list(value.kept))
    for wrong in value.wrong:
        words = (
            f"{wrong.file} of {wrong.host} is not the repository's by its hash: it was not taken from there"
        )
        look = f"{job.command('verify')} --deep"
        job.report.emit("warning", f"{words} ({look})", file=wrong.file, source=wrong.host)


def _start(
    job: Job, survey: Survey, source: Source, endpoint: str | None, supply: Supply | None
) -> DownloadStanding:
    playbook = job.playbook
    request = StartDownload(
        instance=job.name,
        repository=playbook.model.repository,
        revision=playbook.model.revision,
        folder=survey.checkpoint.folder,
        ignore=tuple(playbook.checkpoint.ignore),
        endpoint=endpoint,
        token=_token(playbook),
        token_consent="token-to-endpoint" in job.consents,
        foreign_folder="foreign-folder" in job.consents,
        keep=tuple(sorted(survey.patched)),
    )
    if supply:
        given = {"listing": supply.listing, "peers": supply.peers, "turn": supply.turn}
        request = request.model_copy(update=given)
    try:
        return ask(job.host, request, deadline=60.0, installed_beside=source.python)
    except DeployError as error:
        if error.code in DOWNLOAD_CODES:
            raise failure(error.code, error.message, source) from error
        raise


def _require_the_same(holder: DownloadHolder, playbook: Playbook, source: Source) -> None:
    wanted = (source.repository, playbook.model.revision, source.folder)
    if (holder.repository, holder.revision, holder.folder) != wanted:
        what = f"{holder.repository} at {holder.revision} into {holder.folder}"
        raise Locked(
            "other_download",
            f"{source.host}: a download of {what} is under way for {source.playbook}, since {holder.since}",
        )


def _token(playbook: Playbook) -> str | None:
    """The playbook's HF_TOKEN (`--env HF_TOKEN`), or this person's own."""
    setting = playbook.environment.get("HF_TOKEN")
    return setting.plain if setting is not None else hub_login.token(os.environ)


def _endpoint(playbook: Playbook) -> str | None:
    """The playbook's HF_ENDPOINT, or this person's own; the host's stands where neither is set."""
    setting = playbook.environment.get("HF_ENDPOINT")
    return setting.plain if setting is not None else os.environ.get("HF_ENDPOINT")


def _tell(step: StepReport, value: DownloadProgress, seconds: float) -> None:
    done, total = decimal(value.bytes), decimal(value.total)
    if done.split()[1] == total.split()[1]:
        done = done.split()[0]
    text = f"{done} of {total}, {value.files_done}/{value.files} files, {decimal(value.rate)}/s"
    step.progress(
        text,
        bytes=value.bytes,
        total=value.total,
        rate=value.rate,
        eta=value.eta_seconds,
        waited=round(seconds),
    )
