"""Is what a person typed the id of a model, and what is a deployment of it, or of a folder with a model, called?"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path, PurePosixPath

from orchestrator.playbook.parts import CheckpointSettings, Model
from orchestrator.playbook.playbook import Playbook

_LONGEST_NAME = 64
_CACHED = re.compile(r"/models--(?:[^/]*--)?(?P<name>[^/]+)/snapshots/[0-9a-f]+/*$")
"""A folder of the Hub's own cache: its last name is a commit."""
_ID = re.compile(r"[A-Za-z0-9][\w.-]*/(?!.*(?:--|\.\.))[A-Za-z0-9][\w.-]*", re.ASCII)


def is_model(word: str) -> bool:
    """Whether this is ORGANISATION/NAME of the Hub: a playbook's path ends in .yaml, or there is a file of that name."""
    if not _ID.fullmatch(word) or word.endswith((".yaml", ".yml")):
        return False
    return not Path(word).is_file()


def deployment_of(repository: str) -> Playbook:
    """What is certain of a model by its id alone: enough to find its deployment on a host, not to plan a launch."""
    organisation, _, name = repository.partition("/")
    return Playbook(
        name=_name(organisation, name),
        choose=True,
        model=Model(repository=repository, served_name=name),
        checkpoint=CheckpointSettings(folder=f"~/models/{repository}"),
    )


def deployment_in(folder: str) -> Playbook:
    """The same of a model by its folder on a host alone, an absolute path or one from the home folder (`~/`)."""
    path = PurePosixPath(folder)
    kept = _CACHED.search(folder)
    named = (
        re.sub(r"[^\w.-]+", "-", kept["name"] if kept else path.name, flags=re.ASCII).strip("-._") or "model"
    )
    mark = hashlib.sha256(str(path).encode()).hexdigest()[:8]
    return Playbook(
        name=f"{named[: _LONGEST_NAME - 9].rstrip('-._').lower()}-{mark}",
        choose=True,
        model=Model(repository=None, served_name=named),
        checkpoint=CheckpointSettings(folder=folder),
    )


def _name(organisation: str, name: str) -> str:
    """One name for each id, as in the Hub's own cache: two models of one name must not be one deployment, nor may a
    model be taken for the playbook of that name."""
    whole = f"{organisation}--{name}".lower()
    if len(whole) <= _LONGEST_NAME:
        return whole
    mark = hashlib.sha256(whole.encode()).hexdigest()[:8]
    return f"{whole[: _LONGEST_NAME - 9].rstrip('-._')}-{mark}"
