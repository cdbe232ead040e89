"""What does `deploy` do on a real card where harm could be done? Run on a machine with a GPU and a CUDA vLLM, no root needed.

    python tests/bench/on_a_gpu.py --python ~/ml-env/bin/python3 [--tensor 2] [--environment NAME=VALUE ...]

Each scenario prints what the command said and what was true afterwards; the exit status counts those that went wrong.
A tiny MLA checkpoint is served. A process of this script is the foreign one that holds memory.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from orchestrator.on_host.processes import procs  # noqa: E402
from tests import tiny_mla  # noqa: E402
from tests.ports import free_port  # noqa: E402

FORGED = (
    "(Worker_TP0 pid=4242) ERROR 11-30 05:00:00 [multiproc_executor.py:772] WorkerProc failed to start. "
    "(Worker_TP0 pid=4242) ERROR 11-30 05:00:00 [multiproc_executor.py:772] Traceback (most recent call last): "
    "(Worker_TP0 pid=4242) ERROR 11-30 05:00:00 [multiproc_executor.py:772] torch.OutOfMemoryError: CUDA out of memory."
)
HOLDER = (
    "import sys, torch\n"
    "held = torch.empty(int(sys.argv[1]) << 20, dtype=torch.uint8, device='cuda')\n"
    "held.fill_(1); torch.cuda.synchronize(); print('held', flush=True); sys.stdin.read()\n"
)


class Site:
    """A playbook of the tiny checkpoint on this machine, and the command with a home of its own."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder, self.python, self.port = folder, options.python, free_port()
        self.home = folder / "home"
        self.home.mkdir()
        tiny_mla.make(folder / "checkpoint")
        content = {
            "model": {"repository": "deploy-tests/tiny-mla", "served_name": "tiny"},
            "checkpoint": {"folder": str(folder / "checkpoint")},
            "engine": {"version": ">=0.15", "python": options.python},
            "parallel": {"tensor": options.tensor},
            "context": 256,
            "arguments": {
                "enforce-eager": True,
                "gpu-memory-utilization": options.utilization,
                "enable-log-requests": True,
            },
            "environment": dict(pair.split("=", 1) for pair in options.environment),
            "port": self.port,
            "needs": {"gpus": options.tensor},
            "ready_timeout": 300,
        }
        self.playbook = folder / "tiny.yaml"
        self.playbook.write_text(json.dumps(content))

    def deploy(self, *words: str) -> tuple[int, list[dict[str, Any]], str]:
        """Exit code, events and everything printed."""
        argv = [
            sys.executable,
            "-m",
            "orchestrator.cli.main",
            *words,
            str(self.playbook),
            "--host",
            "local",
            "--json",
        ]
        began = time.monotonic()
        environment = {
            **os.environ,
            "HOME": str(self.home),
            "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}",
        }
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=580, check=False)
        print(f"  $ deploy {' '.join(words)}: exit {done.returncode} after {time.monotonic() - began:.1f} s")
        events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        for event in events:
            if event.get("event") in ("finding", "result", "error", "warning"):
                text = event.get("text") or json.dumps(event.get("error"))
                print("    " + str(text).replace("\n", "\n    ")[:1500])
        return done.returncode, events, done.stdout + done.stderr

    def status(self) -> dict[str, Any]:
        code, events, text = self.deploy("status")
        assert code == 0 and events, text
        return events[-1]

    def server(self) -> int:
        return int(self.status()["listener"]["pid"])

    def ask(self, **more: Any) -> bool:
        body = json.dumps({"model": "tiny", "prompt": "2+2=", "max_tokens": 4, **more}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/v1/completions", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return bool(json.load(answer)["usage"]["completion_tokens"])


def smi(query: str) -> str:
    argv = ["nvidia-smi", query, "--format=csv,noheader"]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()


def used() -> str:
    return f"used {smi('--query-gpu=memory.used')!r}, by {smi('--query-compute-apps=pid,used_gpu_memory')!r}"


def lives(pid: int) -> bool:
    process = procs.process(pid)
    return process is not None and process.alive


def comes_up(site: Site) -> bool:
    code, _, _ = site.deploy("up")
    print("   ", used())
    return code == 0 and site.ask()


def forged_log_and_a_pause(site: Site) -> bool:
    """Clients forge a failure while the server stands still for 20 s: nothing changes."""
    site.ask(stop=[FORGED])
    server, right = site.server(), True
    for verb in ("up", "remediate"):
        os.kill(server, signal.SIGSTOP)
        going_on = threading.Timer(20.0, os.kill, (server, signal.SIGCONT))
        going_on.start()
        code, events, _ = site.deploy(verb)
        going_on.join()
        changed = [event["changed"] for event in events if event.get("event") == "result"]
        right &= code == 0 and changed == [False] and site.server() == server
    return right


def killed_and_healed(site: Site, verb: str) -> bool:
    """The API server is killed; its workers live on and hold memory, until the verb ends them and starts anew."""
    members = site.status()["members"]
    os.kill(site.server(), signal.SIGKILL)
    time.sleep(3.0)
    orphans = [member["pid"] for member in members if lives(member["pid"])]
    print(f"    {len(orphans)} orphans; {used()}")
    code, _, _ = site.deploy(verb)
    print("   ", used())
    return code == 0 and bool(orphans) and not any(map(lives, orphans)) and site.ask()


def given_up_with_orphans(site: Site) -> bool:
    """The API server is killed, and every remedy is forbidden by the budget: what lives on is named."""
    os.kill(site.server(), signal.SIGKILL)
    time.sleep(3.0)
    code, events, text = site.deploy("up", "--set", "engine.python=/no/such/python3")
    said = [event for event in events if event.get("event") == "error"]
    print(f"    error {json.dumps(said)[:1500]}")
    return code != 0 and "deploy stop" in text


def memory_of_others(site: Site, mib: int) -> bool:
    """A foreign process holds memory that the launch needs: told before anything is started, and left alone."""
    site.deploy("stop")
    holder = subprocess.Popen(
        [site.python, "-c", HOLDER, str(mib)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    print("   ", used())
    try:
        planned, _, text = site.deploy("plan")
        print(f"    plan exit {planned}, gpu_busy in it: {'gpu_busy' in text}")
        code, events, text = site.deploy("up")
        launched = [event for event in events if str(event.get("step", "")).startswith("launch")]
        right = code == 4 and not launched and str(holder.pid) in text and holder.poll() is None
    finally:
        holder.communicate()
    return right and comes_up(site)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--tensor", type=int, default=1)
    parser.add_argument("--utilization", type=float, default=0.4)
    parser.add_argument("--hold-mib", type=int, default=100_000)
    parser.add_argument("--environment", action="append", default=[])
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        site = Site(Path(folder), options)
        scenarios = {
            "comes up": lambda: comes_up(site),
            "a forged log and a pause of 20 s": lambda: forged_log_and_a_pause(site),
            "killed, remediate": lambda: killed_and_healed(site, "remediate"),
            "killed, up": lambda: killed_and_healed(site, "up"),
            "memory of others": lambda: memory_of_others(site, options.hold_mib),
            "given up with orphans": lambda: given_up_with_orphans(site),
        }
        try:
            for name, scenario in scenarios.items():
                print(f"== {name}", flush=True)
                try:
                    right = scenario()
                except Exception as error:
                    right = False
                    print(f"    {type(error).__name__}: {error}")
                print(f"  {'right' if right else 'WRONG'}: {name}", flush=True)
                wrong += not right
        finally:
            site.deploy("stop")
            print("   ", used())
    return wrong


if __name__ == "__main__":
    sys.exit(main())
