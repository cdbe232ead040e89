"""Where are the figures taken: a real sshd on loopback, a Hub, a playbook, and the `deploy` command as a process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests import stand_in, tiny_mla  # noqa: E402
from tests.deployments import REPOSITORY  # noqa: E402
from tests.hub import Hub  # noqa: E402
from tests.ports import free_port  # noqa: E402
from tests.sshd import Settings, Sshd, end_sshd, launch_sshd  # noqa: E402

NAME = "bench"
STAND_IN: dict[str, Any] = {
    "engine": {"version": ">=0.15"},
    "parallel": {"tensor": 8},
    "needs": {"gpus": 8, "gpu_memory_gib": 90},
    "ready_timeout": 60,
}
REAL: dict[str, Any] = {
    "engine": {"version": ">=0.32"},
    "parallel": {"tensor": 2},
    "arguments": {"enforce-eager": True},
    "environment": {
        "VLLM_CPU_KVCACHE_SPACE": {"value": 1, "reason": "GiB; a small machine has no more to give"},
        "VLLM_CPU_OMP_THREADS_BIND": {"value": "0|1", "reason": "one core a rank on one NUMA node"},
    },
    "needs": {"gpus": 0},
    "ready_timeout": 400,
}
"""A vLLM for CPUs refuses the FP8 KV cache of this checkpoint too, at its first completion."""


class Site:
    """The host and the command that is measured."""

    def __init__(self, folder: Path, server: Sshd, hub: Hub, kind: dict[str, Any], python: str) -> None:
        self.server = server
        self.folder = folder
        self.checkpoint = folder / "checkpoint"
        self.state = server.state_home / "deploy" / NAME
        self.ssh_config = server.ssh_config
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
            "HOME": str(folder / "home"),
            "PYTHONPATH": str(ROOT),
        }
        self.hub = hub
        self.playbook = folder / f"{NAME}.yaml"
        content = {
            **kind,
            "model": {"repository": REPOSITORY, "served_name": "tiny"},
            "checkpoint": {"folder": str(self.checkpoint)},
            "engine": {**kind["engine"], "python": python},
            "context": 256,
            "environment": {**kind.get("environment", {}), "HF_ENDPOINT": hub.endpoint},
            "port": free_port(),
        }
        self.playbook.write_text(json.dumps(content))

    def argv(self, *words: str) -> list[str]:
        """The command line; without words that of a whole deployment, with a verb that verb's."""
        deploy = [sys.executable, "-m", "orchestrator.cli.main"]
        verb = [word for word in words if not word.startswith("-")]
        options = [word for word in words if word.startswith("-")]
        reach = ["--host", self.server.alias, "--ssh-config", self.ssh_config]
        return [*deploy, *verb, str(self.playbook), *options, *reach]

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.argv(*words),
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words: str) -> float:
        """Seconds that the whole process takes; a failure ends the measurement."""
        began = time.monotonic()
        with self.start(*words) as process:
            out, _ = process.communicate()
        if process.returncode != 0:
            raise SystemExit(f"deploy {' '.join(words)} left with {process.returncode}:\n{out[-3000:]}")
        return time.monotonic() - began

    def afresh(self) -> None:
        """Stopped, and every byte of the checkpoint as it was."""
        self.run("revert")
        self.run("stop")


@contextmanager
def site(real_engine: str | None = None) -> Iterator[Site]:
    """With the stand-in engine, or with the vLLM of that interpreter."""
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    (folder / "home").mkdir()
    tiny_mla.make(folder / "hub" / REPOSITORY)
    engine = stand_in.make(folder / "vllm-0.16.0")
    server = launch_sshd(Settings(environment={} if real_engine else {"PATH": engine.path}))
    try:
        with Hub(folder / "hub") as hub:
            kind, python = (REAL, real_engine) if real_engine else (STAND_IN, engine.python)
            here = Site(folder, server, hub, kind, python)
            try:
                yield here
            finally:
                with here.start("stop") as process:
                    process.communicate()
    finally:
        end_sshd(server)
        shutil.rmtree(folder, ignore_errors=True)


def line(name: str, figure: str, bar: str) -> None:
    print(f"{name}: {figure}   bar {bar}", flush=True)


def load() -> None:
    """What else the machine had to do."""
    one, five, _ = os.getloadavg()
    print(f"load of {os.cpu_count()} cores: {one:.1f} (1 min), {five:.1f} (5 min)", flush=True)


def shown(seconds: Sequence[float]) -> str:
    """Median and range."""
    ordered = sorted(seconds)
    return f"{ordered[len(ordered) // 2]:.2f} s ({ordered[0]:.2f} to {ordered[-1]:.2f})"
