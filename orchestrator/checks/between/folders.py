"""Do all hosts have the same checkpoint, to the byte where it is configuration?

No engine notices where they do not: a model whose parts were normed by another epsilon answers, with other words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.base.amounts import decimal
from orchestrator.checks.between.group_check import GroupCheck, alike, apart, named

SUBJECT = "checkpoint"
CONSENT = "differing-files"
_MOST_KEYS = 3
_ABSENT = object()


@dataclass(frozen=True)
class CheckpointFolder:
    """A checkpoint on one host as it will be launched: bytes of its config files by name, of its weights (None while some are
    missing), and the commit that it was fetched from."""

    path: str
    files: Mapping[str, bytes]
    weights_bytes: int | None = None
    commit: str | None = None

    @property
    def is_there(self) -> bool:
        return bool(self.files)


def check(folders: Mapping[str, CheckpointFolder], *, consented: bool = False) -> Iterator[GroupCheck]:
    """Those that are there; what is not is fetched, from one revision."""
    there = {name: folder for name, folder in folders.items() if folder.is_there}
    if len(there) < 2:
        return
    checks = [*_files(there, consented=consented), *_weights(there)]
    yield from checks
    commits = alike({name: folder.commit for name, folder in there.items() if folder.commit})
    if len(commits) > 1:
        words = apart([(str(commit)[:12], hosts) for commit, hosts in commits])
        yield GroupCheck(SUBJECT, "warn", f"fetched from different commits: {words}")
    elif not checks:
        at = f" of {str(commits[0][0])[:12]}" if commits else ""
        yield GroupCheck(
            SUBJECT,
            "pass",
            f"the same config files{at} on {'all' if there == folders else named(tuple(there))}",
        )


def _weights(there: Mapping[str, CheckpointFolder]) -> Iterator[GroupCheck]:
    sizes = alike(
        {name: each.weights_bytes for name, each in there.items() if each.weights_bytes is not None}
    )
    if len(sizes) > 1:
        odd = sizes[1][1][0]
        words = (
            f"weights of {apart([(f'{decimal(size)} ({size:,} B)', hosts) for size, hosts in sizes if size])}"
        )
        mend = f"ls -l {there[odd].path}  # on {odd}"
        yield GroupCheck(SUBJECT, "fail", words, mend, "weights_differ")


def _files(there: Mapping[str, CheckpointFolder], *, consented: bool) -> Iterator[GroupCheck]:
    for file in dict.fromkeys(name for folder in there.values() for name in folder.files):
        contents = alike({name: folder.files.get(file) for name, folder in there.items()})
        usual, hosts = contents[0]
        for content, odd in contents[1:]:
            words = differences(usual, content, hosts[0], odd[0])
            if words is None:
                yield GroupCheck(
                    SUBJECT, "warn", f"{file} is written otherwise on {named(odd)}, and says the same"
                )
                continue
            mend = _copying(
                f"{there[hosts[0]].path}/{file}", hosts[0], f"{there[odd[0]].path}/{file}", odd[0]
            )
            sentence = (
                f"{file} on {named(odd)} is not that of {named(hosts)}, which no engine notices: {words}"
            )
            if consented:
                yield GroupCheck(SUBJECT, "warn", sentence)
            else:
                sentence += f" (--consent {CONSENT} takes it as it is)"
                yield GroupCheck(SUBJECT, "fail", sentence, mend, "files_differ", {"consent": CONSENT})


def differences(usual: bytes | None, odd: bytes | None, first: str, second: str) -> str | None:
    """In which keys two files differ, with both values; None where they say the same in other bytes."""
    if usual is None or odd is None:
        return f"{first if usual is None else second} has none"
    try:
        flat = [dict(_flat("", json.loads(content))) for content in (usual, odd)]
    except ValueError:
        return "what they say cannot be compared"
    keys = [key for key in dict.fromkeys([*flat[0], *flat[1]]) if _told(flat[0], key) != _told(flat[1], key)]
    if not keys:
        return None
    listed = [
        f"{key} {_told(flat[1], key)} on {second}, {_told(flat[0], key)} on {first}"
        for key in keys[:_MOST_KEYS]
    ]
    more = len(keys) - len(listed)
    return "; ".join(listed) + (f"; and {more} more keys" if more else "")


def _flat(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every value that holds no others, by its keys from the top: text_config.rms_norm_eps."""
    if isinstance(value, dict) and (value or not path):
        for key, inner in value.items():
            yield from _flat(f"{path}.{key}" if path else str(key), inner)
    else:
        yield path, value


def _told(flat: Mapping[str, Any], key: str) -> str:
    value = flat.get(key, _ABSENT)
    if value is _ABSENT:
        return "absent"
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _copying(source: str, having: str, target: str, odd: str) -> str | None:
    """What gets the file of one host onto another, from here; None for names that scp takes for something else."""
    ends = [path if host == "local" else f"{host}:{path}" for path, host in ((source, having), (target, odd))]
    return None if any(":" in host for host in (having, odd)) else f"scp -3 {' '.join(ends)}"
