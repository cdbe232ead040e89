"""How does a checkpoint's folder stand on a host?"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.base.errors import CheckpointError
from orchestrator.checkpoint import json_spans
from orchestrator.programs.download import Manifest
from orchestrator.programs.inspect_checkpoint import CodeFiles, Index, Inspected


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint's folder on the host; `configs` are the bytes of its config files by name."""

    exists: bool
    folder: str
    owner_uid: int | None
    owned_by_us: bool
    configs: Mapping[str, bytes]
    broken: Mapping[str, str]
    """Config files that are no JSON objects, and how that shows: nothing can be said about them."""
    unreadable: Mapping[str, str]
    """Config files that are there and cannot be read, and why."""
    index: Index | None
    manifest: Manifest | None
    free_bytes: int | None
    """On its disk; None where no host was asked."""
    code: CodeFiles = field(default_factory=CodeFiles)
    measured_bytes: int | None = None
    """The weights by the files themselves, once all are there."""

    @property
    def unusable(self) -> dict[str, str]:
        """Config files of which nothing can be told, and why: nothing may be planned as if they were not there."""
        return {
            **self.broken,
            **self.unreadable,
        }

    @property
    def shards(self) -> int | None:
        """How many shards the index names."""
        return len(self.index.shards) if self.index else None

    @property
    def missing(self) -> int | None:
        """How many of them are not there."""
        return len(self.index.missing) if self.index else None

    @property
    def weights_bytes(self) -> int | None:
        """By the files; as long as some are missing, by the index, which may name a false size."""
        if self.measured_bytes is not None:
            return self.measured_bytes
        return self.index.total_size if self.index else None


def checkpoint(inspected: Inspected) -> Checkpoint:
    """What the host told of the folder, with the config files that say something apart from those that do not."""
    broken = {name: reason for name, content in inspected.configs.items() if (reason := flaw(content))}
    return Checkpoint(
        exists=inspected.exists,
        folder=inspected.folder,
        owner_uid=inspected.owner_uid,
        owned_by_us=inspected.owned_by_us,
        configs={name: content for name, content in inspected.configs.items() if name not in broken},
        broken=broken,
        unreadable=inspected.unreadable,
        index=inspected.index,
        manifest=inspected.manifest,
        free_bytes=inspected.disk.free_bytes,
        code=inspected.code or CodeFiles(),
        measured_bytes=inspected.weights_bytes,
    )


def flaw(content: bytes) -> str:
    """Why an engine takes no configuration from it: vLLM and transformers read plain UTF-8; "" where they do."""
    if content.startswith(codecs.BOM_UTF8):
        return "begins with a byte order mark, at which every engine stops"
    try:
        value = json_spans.value(content, name="")
    except CheckpointError:
        value = None
    return "" if isinstance(value, dict) else "is no JSON object"
