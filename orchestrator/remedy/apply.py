"""How do a patch's changes get onto a host, and off again?"""

from __future__ import annotations

import base64
import hashlib

from orchestrator.job import Job
from orchestrator.plan.change import Change
from orchestrator.programs.ask import ask
from orchestrator.programs.config_files import Apply, Done, Edited, Restore
from orchestrator.programs.journal import PatchRecord, RevertRecord
from orchestrator.survey.journal import AppliedPatch


def apply(job: Job, folder: str, change: Change, *, cause: str) -> None:
    """Write the edited files and put the change on record; the originals are kept on the host first.

    Raises HostError with the host's own refusal ("changed_meanwhile", "foreign_folder", "not_writable", ...).
    """
    files: list[Edited] = []
    if change.edits:
        # The file that decides comes last: a patch that was cut off in between is still seen to be needed.
        for name, after in reversed(tuple(change.edits.after.items())):
            expect = hashlib.sha256(change.edits.before[name]).hexdigest()
            files.append(Edited(name=name, expect=expect, content=base64.b64encode(after).decode()))
    record = PatchRecord(
        patch=change.patch.id,
        folder=folder,
        flags=change.flags,
        environment=change.environment,
        why=change.why,
        way=change.way,
        cause=cause,
        engine=change.engine,
    )
    request = Apply(
        instance=job.name,
        folder=folder,
        patch=change.patch.id,
        files=tuple(files),
        record=record.as_json(),
        foreign_folder="foreign-folder" in job.consents,
    )
    ask(job.host, request)


def revert(
    job: Job, applied: AppliedPatch, *, by_person: bool, forget: bool = False, withdrawn: bool = False
) -> tuple[Done, ...]:
    """Put the original bytes back where the patch was applied; gives what was done with each file.

    `forget` takes it out of force and leaves the files alone. One that is `withdrawn` counts as not tried. A person's wish alone
    does not take files from under other launches: HostError("shared_checkpoint").
    """
    record = RevertRecord(patch=applied.patch, folder=applied.folder, by_person=by_person, forgotten=forget)
    if withdrawn:
        record = record.model_copy(update={"withdrawn": True})
    request = Restore(
        instance=job.name,
        folder=applied.folder,
        patch=applied.patch,
        files=() if forget else applied.files[::-1],
        record=record.as_json(),
        foreign_folder="foreign-folder" in job.consents,
        shared_checkpoint=not by_person or "shared-checkpoint" in job.consents,
    )
    return ask(job.host, request).files
