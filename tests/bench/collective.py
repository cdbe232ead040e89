"""What do collectives of this machine's GPUs come to, and does their test leave anything behind? Needs two idle GPUs and torch.

    python tests/bench/collective.py --python ~/ml-env/bin/python3 > collective.jsonl

Runs `deploy doctor PLAYBOOK --host local --collective --json` with other variables each time, and prints on standard output one
JSON object a run: its `scenario`, exit code and seconds, the checks, and `collective` as deploy told it. What a person would
read is on standard error. The host's own variables (NCCL_NVLS_ENABLE=0, ...) reach every rank. The exit status counts what went
wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
HOLDER = (
    "import sys, torch\n"
    "held = torch.ones(1 << 28, device='cuda'); torch.cuda.synchronize()\n"
    "print('held', flush=True); sys.stdin.read()\n"
)


class Bench:
    """A playbook that takes all GPUs, and the command with a home of its own."""

    def __init__(self, folder: Path, python: str, gpus: int) -> None:
        self.folder, self.python, self.gpus = folder, python, gpus
        (folder / "home").mkdir()
        self.wrong = 0

    def command(self, scenario: str, variables: dict[str, str], *more: str) -> list[str]:
        playbook = self.folder / f"{scenario}.yaml"
        content = {
            "model": {"repository": "deploy-tests/collective"},
            "engine": {"python": self.python},
            "parallel": {"tensor": self.gpus},
            "context": 256,
            "environment": variables,
        }
        playbook.write_text(json.dumps(content))
        words = ["doctor", str(playbook), "--host", "local", "--collective", *more]
        return [sys.executable, "-m", "orchestrator.cli.main", *words]

    @property
    def environment(self) -> dict[str, str]:
        path = f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"
        return {**os.environ, "HOME": str(self.folder / "home"), "PYTHONPATH": path}

    def run(self, scenario: str, variables: dict[str, str]) -> dict[str, Any]:
        began = time.monotonic()
        argv = self.command(scenario, variables, "--json")
        done = subprocess.run(
            argv, env=self.environment, capture_output=True, text=True, check=False, timeout=500
        )
        took = round(time.monotonic() - began, 1)
        print(f"== {scenario}: exit {done.returncode} after {took} s\n{done.stderr}", file=sys.stderr)
        answer = json.loads(done.stdout) if done.stdout.startswith("{") else {}
        told = {
            "scenario": scenario,
            "exit": done.returncode,
            "seconds": took,
            "checks": [
                check
                for check in answer.get("checks", ())
                if check["subject"] in ("links", "collective", "pair")
            ],
            "collective": answer.get("collective"),
            "error": answer.get("error"),
        }
        for check in told["checks"]:
            print(f"   {check['verdict']:<8}{check['subject']}: {check['sentence']}", file=sys.stderr)
        print(json.dumps(told), flush=True)
        return told

    def expect(self, right: bool, what: str) -> None:
        self.wrong += not right
        print(f"   {'right' if right else 'WRONG'}: {what}", file=sys.stderr)


def traces() -> dict[str, list[str]]:
    """What a test may leave behind: processes of ranks, files in /dev/shm, folders."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return {
        "ranks": [
            line.split()[0]
            for line in listed.splitlines()
            if '"store"' in line and "deploy-collective-" in line
        ],
        "shared memory": [
            name for name in sorted(os.listdir("/dev/shm")) if name.startswith(("nccl-", "torch_"))
        ],
        "folders": sorted(str(path) for path in Path(tempfile.gettempdir()).glob("deploy-collective-*")),
    }


def interrupted(bench: Bench) -> None:
    """Ctrl-C in the middle, and the same with the controller killed: the ranks go with it."""
    for how in (signal.SIGINT, signal.SIGKILL):
        before = traces()
        running = subprocess.Popen(
            bench.command("interrupted", {}),
            env=bench.environment,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        deadline = time.monotonic() + 60
        while not traces()["ranks"] and running.poll() is None and time.monotonic() < deadline:
            time.sleep(0.2)
        began_ranks = len(traces()["ranks"])
        time.sleep(4.0)
        running.send_signal(how)
        running.communicate()
        deadline = time.monotonic() + 20
        while traces()["ranks"] and time.monotonic() < deadline:
            time.sleep(0.2)
        time.sleep(1.0)
        bench.expect(began_ranks > 0 and traces() == before, f"nothing is left after {how.name}: {traces()}")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", default="python3", help="has torch for CUDA")
    options = parser.parse_args()
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
    gpus = listed.count("GPU ")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), options.python, gpus)
        before = traces()
        for scenario, variables in {
            "nothing set": {},
            "a level that changes nothing by NVLink": {"NCCL_P2P_LEVEL": "SYS"},
            "LL": {"NCCL_PROTO": "LL"},
            "no peer to peer": {"NCCL_P2P_DISABLE": "1"},
            "what NCCL refuses": {"NCCL_PROTO": "no-such-protocol"},
        }.items():
            told = bench.run(scenario.lower().replace(" ", "-"), variables)
            bench.expect(told["collective"] is not None, "measured")
        bench.expect(traces() == before, f"nothing is left: {traces()}")
        holder = subprocess.Popen(
            [options.python, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        told = bench.run("in-use", {})
        bench.expect(told["exit"] == 4 and told["collective"] is None, "GPUs in use are left alone")
        holder.communicate()
        interrupted(bench)
    print(f"{bench.wrong} went wrong", file=sys.stderr)
    return bench.wrong


if __name__ == "__main__":
    sys.exit(main())
