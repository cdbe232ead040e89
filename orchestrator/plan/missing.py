"""Which consents are missing for a launch, and what asks for each?"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.engines.consents import TRUST
from orchestrator.engines.options import Options
from orchestrator.plan import code, resolve
from orchestrator.plan.change import Change
from orchestrator.plan.installing import CONSENT
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook.pinned import PinnedEngine
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.survey import Survey


def consents(
    playbook: Playbook,
    survey: Survey,
    wishes: Wishes,
    changes: Sequence[Change],
    options: Options,
    installs: PinnedEngine | None,
) -> dict[str, str]:
    """The consents without which this may not be started, each with what asks for it."""
    wanted = _wanted(survey, changes, options)
    own = (*playbook.consents, *wishes.consents)
    if installs:
        wanted[CONSENT] = f"{installs} into {installs.folder}"
    lacking = {consent: why for consent, why in wanted.items() if consent not in own}
    if TRUST in options.consents() and TRUST in playbook.consents and TRUST not in wishes.consents:
        strange = code.strangeness(playbook, survey, options, other_folder=wishes.other_folder)
        lacking.update({TRUST: strange} if strange else {})
    waived = _of_the_playbook(playbook, survey) if wishes.yes else {}
    return {consent: why for consent, why in lacking.items() if consent not in waived}


def _wanted(survey: Survey, changes: Sequence[Change], options: Options) -> dict[str, str]:
    wanted = dict(options.consents())
    for change in changes:
        wanted.update({consent: change.patch.id for consent in change.consents if consent not in wanted})
    checkpoint = survey.checkpoint
    if checkpoint.exists and not checkpoint.owned_by_us and any(change.edits for change in changes):
        wanted["foreign-folder"] = f"{checkpoint.folder} belongs to uid {checkpoint.owner_uid}"
    return wanted


def _of_the_playbook(playbook: Playbook, survey: Survey) -> dict[str, str]:
    """The consents that would be needed without any remedy."""
    of_ours = {CONSENT: ""} if playbook.engine.pinned else {}
    python, folder = playbook.engine.interpreter, survey.checkpoint.folder
    return {**resolve.requested(playbook, python=python, folder=folder).consents(), **of_ours}
