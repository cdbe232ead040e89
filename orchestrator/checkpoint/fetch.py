"""How is a download on the host started, joined and followed to its end?"""

from __future__ import annotations

import os
import time
from typing import Any

from orchestrator.checkpoint.download import Fetched, Progress, Source, failure, read
from orchestrator.errors import HostError
from orchestrator.playbook import Playbook
from orchestrator.report.events import Report, Step
from orchestrator.ssh.host import Host
from orchestrator.survey import Survey

POLL_SECONDS = 1.0
HUB = "https://huggingface.co"


def fetch(
    host: Host, playbook: Playbook, report: Report, found: Survey, *, consents: tuple[str, ...]
) -> Fetched:
    """Fetch what the folder lacks; a download that is under way is joined, not started again.

    Interrupting this leaves the download running. Raises CheckpointError with the Hub's or the disk's reason.
    """
    endpoint = _endpoint(playbook)
    source = Source(
        playbook=playbook.name,
        host=host.name,
        repository=playbook.model.repository,
        folder=found.checkpoint.folder,
        endpoint=endpoint or HUB,
        python=found.engine.executable if found.engine else playbook.engine.python,
    )
    with report.step("download") as step:
        answer = _start(host, playbook, found, source, endpoint, consents)
        started = time.monotonic()
        while True:
            value = read(answer["last"], source) if answer["last"] else None
            if isinstance(value, Fetched):
                step.done = f"{_size(value.bytes)}, {value.fetched} of {value.files} files fetched"
                step.data = {"commit": value.commit, "files": value.files, "fetched": value.fetched}
                return value
            if answer["state"] not in ("started", "running"):
                raise failure(
                    "download_failed", f"the download ended without a word; see {answer['room']}", source
                )
            if isinstance(value, Progress) and value.total:
                _tell(step, value, time.monotonic() - started)
            time.sleep(POLL_SECONDS)
            answer = host.script("download", {"action": "status", "playbook": playbook.name})


def _start(
    host: Host,
    playbook: Playbook,
    found: Survey,
    source: Source,
    endpoint: str | None,
    consents: tuple[str, ...],
) -> dict[str, Any]:
    applied = [file for one in found.history.applied for file in one.files]
    request = {
        "action": "start",
        "playbook": playbook.name,
        "repository": playbook.model.repository,
        "revision": playbook.model.revision,
        "folder": found.checkpoint.folder,
        "ignore": list(playbook.checkpoint.ignore),
        "endpoint": endpoint,
        "token": os.environ.get("HF_TOKEN"),
        "token_consent": "token-to-endpoint" in consents,
        "foreign_folder": "foreign-folder" in consents,
        "keep": [file.name for file in applied],
    }
    try:
        answer: dict[str, Any] = host.script(
            "download", request, deadline=60.0, private=True, installed_beside=source.python
        )
    except HostError as error:
        if error.code.startswith(("hub_", "disk_", "download_", "permission")):
            raise failure(error.code, error.message, source) from error
        raise
    return answer


def _endpoint(playbook: Playbook) -> str | None:
    """The playbook's HF_ENDPOINT, or this person's own; the host's stands where neither is set."""
    setting = playbook.environment.get("HF_ENDPOINT")
    if setting is not None and isinstance(setting.value, str):
        return setting.value
    return os.environ.get("HF_ENDPOINT")


def _tell(step: Step, value: Progress, seconds: float) -> None:
    eta = f", eta {value.eta_seconds}s" if value.eta_seconds is not None else ""
    text = (
        f"{_size(value.bytes)} of {_size(value.total)}, {value.files_done}/{value.files} files, "
        f"{_size(value.rate)}/s{eta}"
    )
    step.progress(
        text,
        bytes=value.bytes,
        total=value.total,
        rate=value.rate,
        eta=value.eta_seconds,
        waited=round(seconds),
    )


def _size(count: int) -> str:
    """Bytes in the decimal units that the Hub uses: 591 GB."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"
