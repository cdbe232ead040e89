"""The real vllm-router in an environment of its own, made once on a machine; where pip cannot have it the test is skipped."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.engines.vllm.router import ROUTER
from orchestrator.on_host.environments.place import INTERPRETER

PIN = f"{ROUTER.package.distributions[0]}=={ROUTER.version}"
KEPT = (
    Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "deploy-tests" / PIN.replace("==", "-")
)


def environment() -> Path:
    """The environment that has it."""
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    with KEPT.with_name(f"{KEPT.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (KEPT / "whole").exists():
            _make()
    return KEPT


def _make() -> None:
    base = getattr(sys, "_base_executable", sys.executable)
    for argv in (
        [base, "-m", "venv", "--clear", str(KEPT)],
        [str(KEPT / "bin" / "python"), "-m", "pip", "install", "-q", PIN],
    ):
        done = subprocess.run(argv, capture_output=True, text=True, timeout=180, check=False)
        if done.returncode:
            pytest.skip(f"{PIN} cannot be installed here: {done.stderr.strip()[-200:]}")
    (KEPT / "whole").touch()


def put(home: Path) -> None:
    """As if it had been installed on the host with this home folder."""
    folder = home / ".local/share/deploy/engines" / PIN.replace("==", "-")
    folder.mkdir(parents=True)
    (folder / "environment").symlink_to(environment())
    link = KEPT / INTERPRETER
    if not link.exists():
        link.symlink_to("python3")
