"""What is put on record in the journal on the host?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.programs.journal import JournalRecord
from orchestrator.programs.request import Request


class Record(Request[JournalRecord]):
    """Appended to the journal; the answer is the record with its time and machine."""

    program = "record"

    instance: str
    record: Mapping[str, Any]
