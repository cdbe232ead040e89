"""What does a repository of the Hub hold, as far as it is known before a download?"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.on_host.checkpoint.configs import CONFIG

TOKENIZER = "tokenizer_config.json"
_BESIDE = (
    "original/*", "metal/*", "onnx/*", "consolidated*.safetensors", "pytorch_model*.bin", "*.pth", "*.gguf", "*.h5",
    "*.msgpack",
)  # fmt: skip
"""The same weights once more, as they lie beside `model*.safetensors`: for other programs, or as their makers have them."""


@dataclass(frozen=True)
class Published:
    """A repository at a commit: bytes of each file by name, and the config files themselves."""

    repository: str
    revision: str
    commit: str
    files: Mapping[str, int]
    configs: Mapping[str, bytes]

    @property
    def superfluous(self) -> tuple[str, ...]:
        """Patterns of files that an engine does not read, each of which some file fits."""
        if not any(fnmatch.fnmatch(name, "model*.safetensors") for name in self.files):
            return ()
        return tuple(
            pattern for pattern in _BESIDE if any(fnmatch.fnmatch(name, pattern) for name in self.files)
        )

    @property
    def shards(self) -> tuple[str, ...]:
        """The files that hold the weights, in the order of the alphabet."""
        read = [name for name in self.files if not any(fnmatch.fnmatch(name, p) for p in self.superfluous)]
        for suffix in (".safetensors", ".bin"):
            if named := sorted(name for name in read if name.endswith(suffix)):
                return tuple(named)
        return ()

    @property
    def weights_bytes(self) -> int | None:
        """Of all shards; a header of some kilobytes in each is counted with them."""
        return sum(self.files[name] for name in self.shards) or None

    @property
    def config(self) -> Mapping[str, Any]:
        """config.json; empty where there is none, or it is no JSON object."""
        return self.document(CONFIG)

    def document(self, name: str) -> Mapping[str, Any]:
        """A config file; empty where there is none, or it is no JSON object."""
        return document(self.configs.get(name, b""))


def document(content: bytes) -> Mapping[str, Any]:
    """What a config file says; empty where it is no JSON object."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
