"""Files as huggingface_hub leaves them beside a checkpoint."""

from __future__ import annotations

import os
import time
from pathlib import Path

SHA = "a" * 64


def partial(folder: Path, name: str, size: int, age: float = 0.0) -> Path:
    path = folder / ".cache" / "huggingface" / "download" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    os.utime(path, (time.time() - age,) * 2)
    return path
