"""Which file of a Hugging Face cache lies behind a link in one of its snapshots, and who else leads to it?"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

_NAME = re.compile(r"[\w-]+")  # an ETag: a hash on the Hub itself, anything on a mirror
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Blob:
    """A file `blobs/ETAG` in the folder `models--ORG--NAME` of a repository."""

    repository: str
    below: str

    @property
    def path(self) -> str:
        return os.path.join(self.repository, self.below)

    def may_be(self, sha256: str) -> bool:
        """Whether it is not the file of another hash by its very name."""
        name = os.path.basename(self.below)
        return name == sha256 or not _SHA256.fullmatch(name)


def behind(link: str, target: str) -> Blob | None:
    """The blob that a link leads to, both in one repository of a cache: models--X/snapshots/REVISION/... -> blobs/HASH.

    `link` is a path whose folders are no links, `target` the text of the link. None for every other layout.
    """
    there = os.path.normpath(os.path.join(os.path.dirname(link), target))
    parts = link.split("/")
    for at in range(1, len(parts) - 2):
        if parts[at] == "snapshots" and parts[at - 1].startswith("models--"):
            repository = "/".join(parts[:at])
            folder, name = os.path.split(there)
            if folder == f"{repository}/blobs" and _NAME.fullmatch(name):
                return Blob(repository, f"blobs/{name}")
    return None


def leading_to(blob: Blob) -> list[str]:
    """Names besides its own that lead to a blob: links and hard links in the snapshots, hard links anywhere."""
    try:
        status = os.lstat(blob.path)
    except OSError:
        return []
    names = []
    for folder, folders, files in os.walk(os.path.join(blob.repository, "snapshots")):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            try:
                if os.path.samestat(os.stat(path), status):
                    names.append(path)
            except OSError:
                continue
    if status.st_nlink > 1 and not names:
        names.append("a hard link")
    return sorted(names)
