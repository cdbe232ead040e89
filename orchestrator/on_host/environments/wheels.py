"""How do wheels get into the folder of an engine from the controller, and what of them is there already?"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.on_host.environments import sizes
from orchestrator.on_host.files import trusted
from orchestrator.on_host.refusal import Refusal

_NAME = r"[A-Za-z0-9][A-Za-z0-9_.+!-]*\.whl|uv"
_READ = 1 << 20

ByteSource = Callable[[int], bytes]
"""Gives at most so many bytes, none where the sender is gone."""


def begun(folder: Path, files: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What is still to be sent of these files {name, size, sha256}: [{name, offset}], the offset where an earlier sender was
    cut off. Whatever else lies in the folder goes.

    Raises Refusal: bad_request, install_no_space.
    """
    if not all(re.fullmatch(_NAME, file["name"]) for file in files):
        raise Refusal("bad_request", "a name is none of a wheel")
    trusted.make(folder)
    for stray in set(os.listdir(folder)) - {name for file in files for name in (file["name"], _part(file))}:
        os.unlink(folder / stray)
    wanted = []
    for file in files:
        if not _is(folder / file["name"], file):
            part = folder / _part(file)
            there = part.stat().st_size if part.exists() else 0
            wanted.append({"name": file["name"], "offset": there if there <= file["size"] else 0})
    size = {file["name"]: file["size"] for file in files}
    needed, free = sum(size[part["name"]] - part["offset"] for part in wanted), sizes.free(folder)
    if needed > free:
        needs, has = (f"{count / 1e9:.1f} GB" for count in (needed, free))
        raise Refusal("install_no_space", f"{needs} of wheels are to be sent, {has} are free in {folder}")
    return wanted


def received(
    folder: Path, files: Sequence[Mapping[str, Any]], wanted: Sequence[Mapping[str, Any]], read: ByteSource
) -> Iterator[dict[str, Any]]:
    """Take them one after the other: {name, sound}; one that arrived as another than it was sent is not kept.

    Ends where the sender is gone: what arrived so far stays.
    """
    known = {file["name"]: file for file in files}
    for part in wanted:
        file = known[part["name"]]
        path = folder / _part(file)
        if not _filled(path, part["offset"], file["size"], read):
            return
        sound = _is(path, file)
        if sound:
            os.replace(path, folder / file["name"])
        else:
            os.unlink(path)
        yield {"name": file["name"], "sound": sound}


def _filled(path: Path, offset: int, size: int, read: ByteSource) -> bool:
    """Whether all of it came; raises Refusal("install_no_space"), or "engines_folder" for what else the system says."""
    try:
        with os.fdopen(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "wb"
        ) as out:
            out.truncate(offset)
            out.seek(offset)
            while offset < size:
                data = read(min(_READ, size - offset))
                if not data:
                    return False
                out.write(data)
                offset += len(data)
    except OSError as error:
        why = f"{path}: {error.strerror or error}"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Refusal("install_no_space", why) from error
        raise Refusal("engines_folder", why) from error
    return True


def _part(file: Mapping[str, Any]) -> str:
    """By its content, so that what was begun of one wheel is not gone on with as another of that name."""
    return f"{file['name']}.{file['sha256'][:16]}.part"


def _is(path: Path, file: Mapping[str, Any]) -> bool:
    if not path.is_file() or path.stat().st_size != file["size"]:
        return False
    digest = hashlib.sha256()
    with path.open("rb") as content:
        while data := content.read(_READ):
            digest.update(data)
    return digest.hexdigest() == str(file["sha256"])
