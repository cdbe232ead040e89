"""What did a command come to on each of several hosts, and which came to the same?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.base.errors import (
    BudgetSpent,
    CheckpointError,
    DeployError,
    HostError,
    LaunchFailed,
    Locked,
    PreflightRefused,
    UnknownFailure,
    UsageError,
)
from orchestrator.report.alike import named as names_of

WORDS: Mapping[str, str] = {
    "host_unreachable": "unreachable",
    "auth_refused": "refused the key",
    "host_key_unknown": "unknown host key",
    "host_key_changed": "changed host key",
    "host_key_revoked": "revoked host key",
    "unknown_cause": "failed for an unknown cause",
    "locked": "locked",
}
"""By the code of an error, where that says all."""
KINDS: Mapping[type[DeployError], str] = {
    UsageError: "not done",
    HostError: "lost",
    PreflightRefused: "refused",
    CheckpointError: "checkpoint failed",
    LaunchFailed: "failed",
    UnknownFailure: "failed",
    BudgetSpent: "not ready",
    Locked: "locked",
}


@dataclass(frozen=True)
class HostEnd:
    """What a command came to on a host: in a word, and where that word is wide, why."""

    host: str
    code: int
    word: str
    why: str = ""


def of_error(host: str, error: DeployError) -> HostEnd:
    """An error in a word or two: the patch that knows the failure, or the error's code."""
    if error.code in WORDS:
        return HostEnd(host, error.exit_code, WORDS[error.code])
    word = next((word for kind, word in KINDS.items() if isinstance(error, kind)), "internal error")
    return HostEnd(host, error.exit_code, word, error.known.get("patch", error.code))


def not_begun(host: str) -> HostEnd:
    """Nothing was done: another host had failed before."""
    return HostEnd(host, 0, "not begun")


def groups_json(ends: Sequence[HostEnd]) -> list[dict[str, Any]]:
    """[{"outcome", "why", "exit_code", "hosts"}]: hosts by what they came to."""
    return [
        {"outcome": word, "why": why or None, "exit_code": code, "hosts": hosts}
        for (code, word, why), hosts in _groups(ends)
    ]


def in_groups(outcomes: Sequence[HostEnd], *, named: bool = True) -> str:
    """`97 healthy; 2 unreachable: gpu17, gpu44; 1 failed: fp8-kv-mla on gpu03`; hosts are named where it did not go well."""
    return "; ".join(
        _told(code, word, why, hosts if named else (), len(hosts))
        for (code, word, why), hosts in _groups(outcomes)
    )


def _groups(outcomes: Sequence[HostEnd]) -> list[tuple[tuple[int, str, str], list[str]]]:
    """Hosts by what they came to: what went well first, then by how many they are."""
    groups: dict[tuple[int, str, str], list[str]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.code, outcome.word, outcome.why), []).append(outcome.host)
    return sorted(groups.items(), key=lambda group: (group[0][0] != 0, -len(group[1]), group[0]))


def _told(code: int, word: str, why: str, hosts: Sequence[str], count: int) -> str:
    if code == 0 or not hosts:
        return f"{count} {word}"
    return f"{count} {word}: {f'{why} on ' if why else ''}{names_of(hosts)}"
