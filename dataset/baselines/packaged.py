"""What do readers of other logs find in these?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from buildlog_consultant.common import find_build_failure_description

from dataset.baselines.method import Example, Method, Reader

LONGEST = 400
"""Characters of a line; its expressions give up on longer ones, and the process with them."""


def build_log(_: Sequence[Example]) -> Reader:
    """By rules for the logs of builds: missing commands and modules, full disks, exceptions, exit codes."""

    def read(text: str, _: Mapping[str, Any]) -> Mapping[str, Any]:
        lines = [line[:LONGEST] for line in text.split("\n")]
        match, _problem = find_build_failure_description(lines)
        return {"verdict": "fault", "root_cause": {"text": match.line}} if match else {"verdict": "healthy"}

    return read


METHODS = [Method("rules for build logs (buildlog-consultant)", build_log, ("verdict", "root_cause"))]
