"""How is an engine environment laid out whose vLLM is a stand-in, and a nvidia-smi beside it?"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import huggingface_hub

from orchestrator.rehearsal.stand_in import VERSION, cluster

HERE = Path(__file__).parent
SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin")
STILL = (("--version",), ("topo", "-m"), ("topo", "-p2p", "r"))
"""What is asked of the cards at each look and never changes: the shell answers it, where a Python for each takes ten times as long."""
_ENTRIES = {"openai/api_server": "api_server", "cli/main": "headless"}
"""Modules below vllm.entrypoints that are run, and whose `main` of the stand-in they are."""


@dataclass(frozen=True)
class StandIn:
    """A folder with `bin/python3` (an environment whose vLLM is the stand-in) and `tools` (python3, nvidia-smi, dmesg)."""

    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python3")

    @property
    def path(self) -> str:
        """PATH of a host that has the cards."""
        return os.pathsep.join((str(self.folder / "tools"), *SYSTEM_PATH))


def interpreter() -> Path:
    """The interpreter behind this program's own environment."""
    return Path(getattr(sys, "_base_executable", sys.executable))


def make(
    folder: Path,
    *,
    version: str = VERSION,
    cards: int = 8,
    compute_cap: str = "12.0",
    base: Path | None = None,
) -> StandIn:
    """Lay the stand-ins out in `folder`; a host's PATH and a playbook's engine.python then point there.

    `base` is the interpreter behind it, this program's own unless told: only that one can also download. No
    cards: no nvidia-smi. No version: no vLLM.
    """
    own = interpreter()
    base = base or own
    packages = folder / "lib" / f"python{_series(base, own)}" / "site-packages"
    (folder / "bin").mkdir(parents=True)
    (folder / "tools").mkdir()
    packages.mkdir(parents=True)
    if version:
        _engine(packages, version)
    if base == own:  # its download is real
        (packages / "real.pth").write_text(f"{Path(huggingface_hub.__file__).parents[1]}\n")
    (folder / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n")
    (folder / "bin" / "python3").symlink_to(base)
    (folder / "tools" / "python3").symlink_to(base)
    _kernel_log(folder / "tools")
    if cards:
        _nvidia_smi(folder / "tools", base, cards, compute_cap)
    return StandIn(folder)


def _series(base: Path, own: Path) -> str:
    if base == own:
        return f"{sys.version_info[0]}.{sys.version_info[1]}"
    program = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([base, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def _engine(packages: Path, version: str) -> None:
    for package in ("vllm", "vllm/entrypoints", "vllm/entrypoints/openai", "vllm/entrypoints/cli"):
        (packages / package).mkdir()
        (packages / package / "__init__.py").write_text("")
    for entry, module in _ENTRIES.items():
        text = f"from vllm.stand_in.{module} import main\n\nmain()\n"
        (packages / f"vllm/entrypoints/{entry}.py").write_text(text)
    shutil.copytree(
        HERE / "stand_in", packages / "vllm" / "stand_in", ignore=shutil.ignore_patterns("__pycache__")
    )
    (packages / "ray" / "scripts").mkdir(parents=True)
    (packages / "ray" / "__init__.py").write_text("from vllm.stand_in.cluster import init, nodes\n")
    (packages / "ray" / "scripts" / "scripts.py").write_text(
        "from vllm.stand_in.cluster import start\n\nstart()\n"
    )
    for name, release in (("vllm", version), ("ray", cluster.VERSION)):
        metadata = packages / f"{name}-{release}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {release}\n")


def _nvidia_smi(tools: Path, base: Path, cards: int, compute_cap: str) -> None:
    program = (HERE / "cards.py").read_text()
    program = program.replace("CARDS = 8", f"CARDS = {cards}").replace('"12.0"', f'"{compute_cap}"')
    (tools / "cards.py").write_text(program)
    argv = [str(base), "-I", "-S", "-B", str(tools / "cards.py")]
    still = ""
    for question in STILL:
        answer = subprocess.run([*argv, *question], capture_output=True, text=True, check=True).stdout
        still += f"'{' '.join(question)}') printf %s {shlex.quote(answer)}; exit ;;\n"
    path = tools / "nvidia-smi"
    path.write_text(f'#!/bin/sh\ncase "$*" in\n{still}esac\nexec {shlex.join(argv)} "$@"\n')
    path.chmod(0o755)


def _kernel_log(tools: Path) -> None:
    """dmesg prints what stand-ins noted beside the cards: this machine's own kernel tells nothing of the host."""
    path = tools / "dmesg"
    path.write_text('#!/bin/sh\n[ ! -e "$STAND_IN_CARDS/kernel.log" ] || cat "$STAND_IN_CARDS/kernel.log"\n')
    path.chmod(0o755)
