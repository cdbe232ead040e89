"""May this host key be trusted?

Revoked keys and changed keys are always refused; an unknown key is refused unless the person gave its fingerprint
or ssh_config says `StrictHostKeyChecking accept-new`, and is then recorded. `no` does not accept it, other than with
ssh: images and cloud templates set it for everybody, and what is sent here are tokens.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from orchestrator.base.errors import HostError, UsageError
from orchestrator.hosts import known_hosts
from orchestrator.hosts.config import Resolved
from orchestrator.hosts.known_hosts import Entry, HostKey


class KeyStanding(Enum):
    """What known_hosts says about a key."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    OTHER_TYPE = "other type"
    """Unknown, while keys of other types are known: the host may have a new key, or be another one."""
    CHANGED = "changed"
    REVOKED = "revoked"


@dataclass(frozen=True)
class Judgement:
    standing: KeyStanding
    entries: tuple[Entry, ...] = ()
    """The lines that speak against the key."""


def judge(entries: Sequence[Entry], resolved: Resolved, key: HostKey) -> Judgement:
    """Judge a key by the lines of known_hosts files; pure."""
    revoked = tuple(
        entry
        for entry in entries
        if entry.marker == "@revoked" and entry.key.blob == key.blob and _speaks_of(entry, resolved)
    )
    if revoked:
        return Judgement(KeyStanding.REVOKED, revoked)
    ours = [entry for entry in entries if not entry.marker and entry.names(resolved.key_name)]
    if any(entry.key.blob == key.blob for entry in ours):
        return Judgement(KeyStanding.KNOWN)
    if same_type := tuple(entry for entry in ours if entry.key.kind == key.kind):
        return Judgement(KeyStanding.CHANGED, same_type)
    if ours:
        return Judgement(KeyStanding.OTHER_TYPE, tuple(ours))
    if resolved.host_key_alias is None and any(
        not entry.marker and entry.names(resolved.hostname) and entry.key.blob == key.blob
        for entry in entries
    ):  # ssh too takes a key that is known for the host without the port
        return Judgement(KeyStanding.KNOWN)
    return Judgement(KeyStanding.UNKNOWN)


def entries_of(resolved: Resolved) -> tuple[Entry, ...]:
    """The lines of known_hosts files that may be about a host."""
    files = (*resolved.user_known_hosts, *resolved.global_known_hosts)
    return known_hosts.about(files, (resolved.key_name, resolved.hostname))


def preferred_types(entries: Sequence[Entry], resolved: Resolved) -> tuple[str, ...]:
    """The types of the keys that are known for a host: asked for first, so that they can be compared."""
    names = {resolved.key_name} | ({resolved.hostname} if resolved.host_key_alias is None else set())
    kinds = [entry.key.kind for entry in entries if not entry.marker and any(map(entry.names, names))]
    return tuple(dict.fromkeys(kinds))


def check(resolved: Resolved, key: HostKey, accepted: Sequence[str]) -> None:
    """Return where the key may be trusted (recording it if it is new), else raise HostError.

    `host` is what the person typed; `accepted` are fingerprints that the person has compared.
    """
    judgement = judge(entries_of(resolved), resolved, key)
    if judgement.standing is KeyStanding.KNOWN:
        return
    if judgement.standing is KeyStanding.REVOKED:
        raise _revoked(resolved, key, judgement.entries[0])
    if judgement.standing is KeyStanding.CHANGED:
        raise _changed(resolved, key, judgement.entries[0])
    new = judgement.standing is KeyStanding.UNKNOWN
    by_config = new and resolved.strict_host_key_checking == "accept-new"
    if key.fingerprint not in accepted and not by_config:
        raise _unknown(resolved, key, judgement.entries, accepted)
    _record(resolved, key)


def read_fingerprints(texts: Sequence[str]) -> tuple[str, ...]:
    """The fingerprints that `--accept-host-key` was given; raises UsageError("host_key_fingerprint")."""
    for text in texts:
        if not re.fullmatch(r"SHA256:[A-Za-z0-9+/]{43}", text):
            raise UsageError(
                "host_key_fingerprint",
                f"{text!r} is not a host key's fingerprint (SHA256: and 43 characters).",
                next_command="ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub",
            )
    return tuple(texts)


def _speaks_of(entry: Entry, resolved: Resolved) -> bool:
    return entry.names(resolved.key_name) or (
        resolved.host_key_alias is None and entry.names(resolved.hostname)
    )


def _record(resolved: Resolved, key: HostKey) -> None:
    files = [file for file in resolved.user_known_hosts if file != "/dev/null"]
    if not files:
        return
    line = known_hosts.line_for(resolved.key_name, key, hashed=resolved.hash_known_hosts)
    try:
        known_hosts.append(files[0], line)
    except OSError as error:
        raise HostError(
            "known_hosts",
            f"The accepted key of {resolved.key_name} cannot be recorded in {files[0]}: {error.strerror}.",
            next_command=f"ls -l {shlex.quote(str(files[0]))}",
        ) from None


def _unknown(resolved: Resolved, key: HostKey, others: Sequence[Entry], accepted: Sequence[str]) -> HostError:
    beside = f"; {others[0].file}:{others[0].line} knows it by another key type" if others else ""
    hint = "; it is none of the accepted fingerprints" if accepted else ""
    if resolved.strict_host_key_checking == "no":
        hint += "; StrictHostKeyChecking no in ssh_config does not accept it here, accept-new would"
    return HostError(
        "host_key_unknown",
        f"The {key.kind} host key of {resolved.key_name} is not known: {key.fingerprint}{beside}{hint}.",
        fingerprint=key.fingerprint,
    )


def _changed(resolved: Resolved, key: HostKey, old: Entry) -> HostError:
    return HostError(
        "host_key_changed",
        f"The {key.kind} host key of {resolved.key_name} has changed to {key.fingerprint}: "
        f"{old.file}:{old.line} holds {old.key.fingerprint}. Somebody may be in between.",
        next_command=f"ssh-keygen -R {shlex.quote(resolved.key_name)} -f {shlex.quote(old.file)}",
    )


def _revoked(resolved: Resolved, key: HostKey, entry: Entry) -> HostError:
    return HostError(
        "host_key_revoked",
        f"The {key.kind} host key of {resolved.key_name} ({key.fingerprint}) is revoked in "
        f"{entry.file}:{entry.line}.",
        next_command=f"ssh-keygen -lf {shlex.quote(str(entry.file))}",
    )
