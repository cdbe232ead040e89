"""Is the checkpoint's code that for which the consent in the playbook was given?

Who writes `consents: [trust-remote-code]` into a playbook trusts what its repository holds. A branch moves, a mirror may
serve something else, a folder may hold anything. So the first code that comes from where the playbook says is taken
for what was meant, it is put on record with its commit, and other code asks again (docs/explain/decisions.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from orchestrator.engines.consents import TRUST
from orchestrator.engines.options import Options
from orchestrator.on_host.secrets.hub_token import HUB, without_password
from orchestrator.playbook.playbook import Playbook
from orchestrator.programs.journal import ConsentRecord
from orchestrator.survey.journal import Trusted
from orchestrator.survey.survey import Survey

_COMMIT = re.compile(r"[0-9a-f]{40}")
_TOLD = 4
"""Files that a message names; the others are counted."""


def present(playbook: Playbook, survey: Survey) -> Trusted:
    """The code that lies in the checkpoint's folder now."""
    manifest = survey.checkpoint.manifest
    fetched = manifest is not None and manifest.repository == playbook.model.repository
    commit = manifest.commit if manifest is not None and fetched else None
    return Trusted(
        playbook.model.repository or "",
        playbook.model.revision,
        commit or None,
        dict(survey.checkpoint.code.files),
    )


def record(playbook: Playbook, survey: Survey) -> ConsentRecord | None:
    """What the journal has to say before this code is run; None where it says so already."""
    now = present(playbook, survey)
    if _known(now, survey.history.trusted):
        return None
    return ConsentRecord(
        consent=TRUST,
        repository=now.repository,
        revision=now.revision,
        commit=now.commit,
        code=now.code,
    )


def strangeness(playbook: Playbook, survey: Survey, options: Options, *, other_folder: bool) -> str:
    """Why the playbook's own consent does not stand for what would run; "" where it does.

    `other_folder`: an option of this command named the folder, the playbook did not.
    """
    checkpoint, now = survey.checkpoint, present(playbook, survey)
    outside = (*checkpoint.code.elsewhere, *options.code_beside())
    if outside:
        return f"code of {', '.join(dict.fromkeys(outside))} would run too, which no commit binds"
    if not checkpoint.code.whole:
        return f"not all of the Python in {checkpoint.folder} can be read and remembered"
    if not now.code or _known(now, survey.history.trusted):
        return ""
    earlier = [trusted for trusted in survey.history.trusted if _source(trusted) == _source(now)]
    if earlier:
        return f"{now.repository or checkpoint.folder} is not what it was when it was trusted: {_difference(earlier[-1], now)}"
    return _origin(playbook, survey, now, other_folder)


def _origin(playbook: Playbook, survey: Survey, now: Trusted, other_folder: bool) -> str:
    """Why code that nobody has trusted yet is not what the playbook means."""
    manifest, folder = survey.checkpoint.manifest, survey.checkpoint.folder
    if manifest is None:
        return (
            f"{folder} is not the playbook's folder, and its Python was not fetched by deploy"
            if other_folder
            else ""
        )
    if now.commit is None:
        return f"the files in {folder} were fetched from {manifest.repository}"
    if _COMMIT.fullmatch(now.revision) and now.commit != now.revision:
        return f"the files in {folder} are those of {now.commit[:12]}, not of {now.revision[:12]}"
    came_from = manifest.endpoint or HUB
    own = playbook.environment.get("HF_ENDPOINT")
    if came_from not in (HUB, without_password(own.plain) if own else HUB):
        return f"the files in {folder} were fetched from {came_from}"
    return ""


def _source(trusted: Trusted) -> tuple[str, str]:
    return trusted.repository, trusted.revision


def _known(now: Trusted, trusted: Sequence[Trusted]) -> bool:
    """The same files, of the same commit where both are known to be of one."""
    return any(
        (entry.repository, entry.code) == (now.repository, now.code)
        and (entry.commit == now.commit or (now.code and None in (entry.commit, now.commit)))
        for entry in trusted
    )


def _difference(before: Trusted, now: Trusted) -> str:
    parts = []
    if before.commit and now.commit and before.commit != now.commit:
        parts.append(f"commit {before.commit[:12]} then, {now.commit[:12]} now")
    names = sorted({*before.code, *now.code})
    other = [name for name in names if before.code.get(name) != now.code.get(name)]
    if other:
        more = f" and {len(other) - _TOLD} more" if len(other) > _TOLD else ""
        parts.append(f"{', '.join(_how(name, before.code, now.code) for name in other[:_TOLD])}{more}")
    return "; ".join(parts)


def _how(name: str, before: Mapping[str, str], now: Mapping[str, str]) -> str:
    return f"{name} {'is new' if name not in before else 'is gone' if name not in now else 'changed'}"
