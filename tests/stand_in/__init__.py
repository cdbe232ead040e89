"""Stand-ins for what cannot exist on a test machine: a vLLM 0.16.0 on eight RTX PRO 6000 cards.

The engine reads a checkpoint's config as that release does and refuses with its texts; nvidia-smi prints what such
a host prints. Everything around them (sshd, processes, shared memory, files, HTTP) is real.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import huggingface_hub

from tests.sshd import HOST_PATH

HERE = Path(__file__).parent
VERSION = "0.16.0"


@dataclass(frozen=True)
class StandIn:
    """A folder with `bin/python3` (an environment whose vLLM is the stand-in) and `tools/nvidia-smi`."""

    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python3")

    @property
    def path(self) -> str:
        """PATH of a host that has the cards."""
        return f"{self.folder / 'tools'}{os.pathsep}{HOST_PATH}"


def make(
    folder: Path,
    *,
    version: str = VERSION,
    cards: int = 8,
    compute_cap: str = "12.0",
    base: Path | None = None,
) -> StandIn:
    """Lay the stand-ins out in `folder`; a host's PATH and a playbook's engine.python then point there.

    `base` is the interpreter behind it, the tests' own unless told: only that one can also download.
    """
    own = Path(getattr(sys, "_base_executable", sys.executable))
    base = base or own
    asked = "import sys; print('%d.%d' % sys.version_info[:2])"
    series = subprocess.run([base, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()
    for name in ("bin", "tools"):
        (folder / name).mkdir(parents=True)
    packages = folder / "lib" / f"python{series}" / "site-packages"
    for package in ("vllm", "vllm/entrypoints", "vllm/entrypoints/openai"):
        (packages / package).mkdir(parents=True)
        (packages / package / "__init__.py").write_text("")
    (packages / f"vllm-{version}.dist-info").mkdir()
    metadata = f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n"
    (packages / f"vllm-{version}.dist-info" / "METADATA").write_text(metadata)
    program = (HERE / "api_server.py").read_text()
    (packages / "vllm" / "entrypoints" / "openai" / "api_server.py").write_text(program)
    if base == own:
        (packages / "real.pth").write_text(
            f"{Path(huggingface_hub.__file__).parents[1]}\n"
        )  # its download is real
    (folder / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n")
    (folder / "bin" / "python3").symlink_to(base)
    _nvidia_smi(folder / "tools" / "nvidia-smi", cards, compute_cap)
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(
                path.stat().st_mode | (0o055 if path.is_dir() or path.parent.name == "tools" else 0o044)
            )
    return StandIn(folder)


def _nvidia_smi(path: Path, cards: int, compute_cap: str) -> None:
    """Answers the queries that the facts ask, by field name, and the topology of two sockets."""
    program = (HERE / "nvidia_smi.py").read_text()
    path.write_text(
        "#!/usr/bin/env python3\n"
        + program.replace("CARDS = 8", f"CARDS = {cards}").replace("12.0", compute_cap)
    )
    path.chmod(0o755)
