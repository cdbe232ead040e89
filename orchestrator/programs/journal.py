"""What stands in the journal of a deployment, one kind of record an action?

Programs on the host write it (`on_host/state/state.py`), some of it as the controller words it. A record says what was done
then, so it is kept as it stands there: what another release wrote besides is shown too, and counts for nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PrivateAttr, Strict, ValidationError

from orchestrator.programs.request import Stored

LaunchNumber = Annotated[int, Strict(), Field(gt=0, lt=1 << 31)]
Assignments = Mapping[str, str | None]
"""Options or variables by name; None where one was taken away."""


class JournalRecord(Stored):
    """One line of it, of an action that has no words of its own here, or of whichever.

    `at` is host time (ISO 8601) and `machine` whose it is: a home folder may be shared. The host adds both.
    """

    at: Any = None
    machine: Any = None
    action: str
    _written: Mapping[str, Any] | None = PrivateAttr(None)

    def as_json(self) -> dict[str, Any]:
        """As it was written, or is to be."""
        if self._written is not None:
            return {**self._written}
        return {**self.model_dump(exclude_unset=True), "action": self.action}

    @property
    def moment(self) -> datetime | None:
        """When it was written; None where that is not told with its zone."""
        try:
            moment = datetime.fromisoformat(str(self.at))
        except ValueError:
            return None
        return None if moment.tzinfo is None else moment


class LaunchRecord(JournalRecord):
    """A launch was started, with the command and environment that stand there too; older releases do not tell the playbook."""

    action: Literal["launch"] = "launch"
    launch: LaunchNumber
    playbook: str | None = None


class OutcomeRecord(JournalRecord):
    """How a launch ended up: "healthy", "failed" or "hang". `cause` is its root cause, `finding` the patch that recognised
    it; `from_outside`: it was killed by nobody knows whom; `context`: tokens of one request, as a healthy one told."""

    action: Literal["outcome"] = "outcome"
    launch: LaunchNumber
    result: str
    cause: str | None = None
    finding: str | None = None
    from_outside: bool = False
    context: int | None = None

    @classmethod
    def healthy(cls, launch: LaunchNumber, context: int | None) -> OutcomeRecord:
        tokens = {} if context is None else {"context": context}
        return cls(launch=launch, result="healthy", **tokens)


def _of_the_folder(name: str) -> str:
    if "/" in name:
        raise ValueError("is no file of the folder itself")
    return name


class FileChange(Stored):
    """One config file as a patch found it and left it (sha256, hex), and where its link led."""

    name: Annotated[str, AfterValidator(_of_the_folder)]
    before: str
    after: str
    symlink: str | None = None


class PatchRecord(JournalRecord):
    """A remedy is in force. `way` is what the patch itself asked for, in one line, `why` what it answers, `cause` the root
    cause that it mends, `engine` what the engine was foreseen to make of the files without it."""

    action: Literal["patch"] = "patch"
    patch: str
    folder: str
    files: tuple[FileChange, ...] = ()
    flags: Assignments = Field(default_factory=dict)
    environment: Assignments = Field(default_factory=dict)
    why: str | None = None
    way: str = ""
    cause: str = ""
    engine: Mapping[str, str] = Field(default_factory=dict)


class RevertRecord(JournalRecord):
    """A patch is no longer in force; `forgotten`: its files were left as they are, `withdrawn`: it was never tried. Older
    releases do not tell the folder."""

    action: Literal["revert"] = "revert"
    patch: str
    folder: str | None = None
    by_person: bool = False
    forgotten: bool = False
    withdrawn: bool = False


class StopRecord(JournalRecord):
    """A launch was stopped, by request or while a remedy was applied: what was ended and removed, what lives on.
    `anew`: it was to be started again at once."""

    action: Literal["stop"] = "stop"
    ended: tuple[Any, ...] | None = None
    shm_removed: tuple[Any, ...] | None = None
    left: tuple[Mapping[str, Any], ...] = ()
    by_person: bool = False
    anew: bool = False


class StopFailedRecord(JournalRecord):
    """A launch was to be stopped, and these processes would not end."""

    action: Literal["stop_failed"] = "stop_failed"
    launch: int | None = None
    survivors: str = "some processes"


class CleanRecord(JournalRecord):
    """What became of each thing that was to be cleaned, by its name (`on_host/programs/cleanup.py`)."""

    action: Literal["clean"] = "clean"
    what: Mapping[str, Any] = Field(default_factory=dict)


class DiscardRecord(JournalRecord):
    """Files of the checkpoint were taken away, to be fetched again; `kept` are those that should have gone."""

    action: Literal["discard"] = "discard"
    folder: str | None = None
    files: tuple[str, ...] = ()
    kept: tuple[Mapping[str, Any], ...] = ()


class ConsentRecord(JournalRecord):
    """Code was trusted: what was asked of the Hub, the commit it was (None: not fetched by us), and the sha256 of each
    Python file by its name in the folder."""

    action: Literal["consent"] = "consent"
    consent: str
    repository: str | None = None
    revision: str | None = None
    commit: str | None = None
    code: Mapping[str, str] | None = None


class InstallRecord(JournalRecord):
    """An engine was installed for this deployment, and whichever others ask for it."""

    action: Literal["install"] = "install"
    engine: str
    folder: str
    python: str


class CollectiveRecord(JournalRecord):
    """Collectives of these GPUs (UUIDs) were measured with this driver, and with these variables of NCCL as the planned ones:
    what they were worth, in a word and in a sentence."""

    action: Literal["collective"] = "collective"
    uuids: tuple[str, ...]
    driver: str | None = None
    variables: Mapping[str, str] = Field(default_factory=dict)
    worth: str
    sentence: str


class UnreadableRecord(JournalRecord):
    """A record that does not say what one of its action must, each in its type, as it stands there."""

    action: Literal["unreadable"] = "unreadable"
    record: Any


_MODELS: Mapping[str, type[JournalRecord]] = {
    "launch": LaunchRecord,
    "outcome": OutcomeRecord,
    "patch": PatchRecord,
    "revert": RevertRecord,
    "stop": StopRecord,
    "stop_failed": StopFailedRecord,
    "clean": CleanRecord,
    "discard": DiscardRecord,
    "consent": ConsentRecord,
    "install": InstallRecord,
    "collective": CollectiveRecord,
}


def read(record: Any) -> JournalRecord:
    """What a line of the journal says; never raises."""
    action = record.get("action") if isinstance(record, dict) else None
    model = _MODELS.get(action, JournalRecord) if isinstance(action, str) else JournalRecord
    try:
        value = model.model_validate(record)
    except ValidationError:
        of = record if isinstance(record, dict) else {}
        return UnreadableRecord(at=of.get("at"), machine=of.get("machine"), record=record)
    value._written = record
    return value
