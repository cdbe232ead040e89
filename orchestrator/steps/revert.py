"""What does taking a patch back put where?"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.steps.patch import DEADLINE_SECONDS
from orchestrator.steps.step import Effects, Step, Work
from orchestrator.survey.journal import AppliedPatch


@dataclass(frozen=True)
class Revert(Step):
    """Put the original bytes back. Not `by_person`: the patch did not help, or is `withdrawn` untried, since it could not
    be applied on another host of the group. `forget` leaves the files as they are."""

    name = "revert"
    applied: AppliedPatch
    by_person: bool = True
    forget: bool = False
    withdrawn: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(file.name for file in self.applied.files)

    @property
    def effects(self) -> Effects:
        applied = self.applied
        back = f"take {applied.patch} back: {', '.join(self.names) or 'options only'} in {applied.folder}"
        files = () if self.forget else tuple(f"{applied.folder}/{name}" for name in self.names)
        return Effects((back,), files=files)

    def do(self, work: Work) -> None:
        from orchestrator.remedy import apply

        patch = self.applied.patch
        work.require()
        with work.job.report.step("revert", f"taking {patch} back", limit=DEADLINE_SECONDS) as step:
            done = apply.revert(
                work.job,
                self.applied,
                by_person=self.by_person,
                forget=self.forget,
                withdrawn=self.withdrawn,
            )
            if not self.by_person:
                why = "not every host of the group could take it" if self.withdrawn else "it did not help"
                step.done = f"{patch} taken back, {why}"
                return
            files = ", ".join(f"{file.name}: {file.done}" for file in done) or "options only"
            step.done = f"{patch}   {files}"
            step.data = {"patch": patch, "files": [file.as_json() for file in done]}
