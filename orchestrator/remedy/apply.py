"""How do a patch's changes get onto a host, and off again?"""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from orchestrator.job import Job
from orchestrator.plan.change import Change
from orchestrator.survey.journal import AppliedPatch


def apply(job: Job, folder: str, change: Change, *, cause: str) -> None:
    """Write the edited files and put the change on record; the originals are kept on the host first.

    Raises HostError with the host's own refusal ("changed_meanwhile", "foreign_folder", "not_writable", ...).
    """
    files: list[dict[str, Any]] = []
    if change.edits:
        # The file that decides comes last: a patch that was cut off in between is still seen to be needed.
        for name, after in reversed(tuple(change.edits.after.items())):
            expect = hashlib.sha256(change.edits.before[name]).hexdigest()
            files.append({"name": name, "expect": expect, "content": base64.b64encode(after).decode()})
    record = {
        "flags": dict(change.flags),
        "environment": dict(change.environment),
        "why": change.why,
        "way": change.way,
        "cause": cause,
    }
    job.host.script(
        "config_files",
        {
            "playbook": job.name,
            "folder": folder,
            "action": "apply",
            "patch": change.patch.id,
            "files": files,
            "record": record,
            "foreign_folder": "foreign-folder" in job.consents,
        },
    )


def revert(job: Job, applied: AppliedPatch, *, by_person: bool, forget: bool = False) -> list[dict[str, str]]:
    """Put the original bytes back where the patch was applied; gives {name, done} for each file.

    `forget` takes it out of force and leaves the files alone.
    """
    files = [
        {"name": file.name, "before": file.before, "after": file.after, "symlink": file.symlink}
        for file in reversed(applied.files)
    ]
    answer = job.host.script(
        "config_files",
        {
            "playbook": job.name,
            "folder": applied.folder,
            "action": "restore",
            "patch": applied.patch,
            "files": [] if forget else files,
            "record": {"by_person": by_person, "forgotten": forget},
            "foreign_folder": "foreign-folder" in job.consents,
        },
    )
    done: list[dict[str, str]] = answer["files"]
    return done
