"""The same programs as a host runs them: as text, by its own Python, over a channel that may break."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.hosts import bootstrap, ship
from orchestrator.on_host.kinds import launches
from tests.on_host.conftest import OF_VLLM, Deployments, ready, stand_in
from tests.ports import free_port
from tests.programs.requests import answer_of
from tests.waiting import PATIENCE_SECONDS, eventually


def oldest() -> str | None:
    """A Python 3.9, the oldest that a host may have."""
    python = shutil.which("python3.9")
    works = python and subprocess.run([python, "-V"], capture_output=True, check=False).returncode == 0
    pyenv = sorted(
        Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/3.9*/bin/python3")
    )
    return python if works else str(pyenv[-1]) if pyenv else None


@pytest.fixture(params=["this python", "python 3.9"], scope="module")
def python(request: pytest.FixtureRequest) -> str:
    if request.param == "this python":
        return sys.executable
    found = oldest()
    if found is None:
        pytest.skip("no Python 3.9 here")
    return found


def shipped(python: str, module: str, request: Mapping[str, Any]) -> Any:
    done = subprocess.run(
        bootstrap.interpreter(python),
        input=ship.bundle(module, request, deadline=30),
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    (line,) = done.stdout.splitlines()
    answer = json.loads(line)
    if "value" in answer:
        answer_of(module)(answer["value"])
    return answer


def test_from_launch_to_stop(python: str, deployments: Deployments) -> None:
    port = free_port()
    posts = {
        "/v1/completions": [
            200,
            {"choices": [{"text": "4", "finish_reason": "stop"}], "usage": {"completion_tokens": 1}},
        ]
    }
    argv = stand_in(workers=1, port=port, posts=posts)
    launch = {
        "instance": "tiny",
        "kind": "nohup",
        "launch_id": str(uuid.uuid4()),
        "argv": argv,
        **OF_VLLM,
    }
    started = shipped(python, "launch", launch)["value"]
    one = launches.load(deployments.folder(), started["launch"])
    assert one is not None
    ready(one, 1)
    assert (
        shipped(python, "launch", {**launch, "launch_id": str(uuid.uuid4())})["error"]["code"]
        == "already_running"
    )
    smoke = {
        "port": port,
        "host": "127.0.0.1",
        "model": "tiny",
        "prompt": "2+2=",
        "counter": "vllm:generation_tokens_total",
        "max_tokens": 8,
        "timeout": 5,
    }
    assert shipped(python, "smoke", smoke)["value"]["ok"] is True
    seen = shipped(
        python, "observe", {"instance": "tiny", "port": port, "host": "127.0.0.1", "health_path": "/health"}
    )["value"]
    assert (seen["health"], len(seen["process"]["members"])) == (200, 3)
    limits = {"grace_seconds": 30, "kill_seconds": 30, "remove_shm": False, "wait_gpu_seconds": 1}
    stopped = shipped(python, "stop", {"instance": "tiny", "launch": None, **OF_VLLM, **limits})["value"]
    assert (len(stopped["ended"]), stopped["killed"], stopped["exit_code"]) == (3, 0, 0)


def test_watch_lives_by_its_input(python: str, deployments: Deployments) -> None:
    ready(deployments.launch(stand_in()))
    request = {
        "instance": "tiny",
        "launch": 1,
        "port": free_port(),
        "host": "127.0.0.1",
        "health_path": "/health",
        "interval": 1,
    }
    with subprocess.Popen(
        bootstrap.interpreter(python), stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as watch:
        assert watch.stdin is not None
        assert watch.stdout is not None
        watch.stdin.write(ship.bundle("watch", request, deadline=None))
        watch.stdin.flush()
        assert json.loads(watch.stdout.readline())["value"]["process"] == "running"
        watch.stdin.close()
        assert watch.wait(timeout=PATIENCE_SECONDS) == 0


def test_the_launch_outlives_its_channel(python: str, deployments: Deployments) -> None:
    """What sshd does when a connection breaks: HUP, then KILL to the process group of the session."""
    shell = subprocess.Popen(
        ["/bin/sh", "-c", '"$@"; kill -STOP $$', "shell", *bootstrap.interpreter(python)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert shell.stdin is not None
    assert shell.stdout is not None
    request = {
        "instance": "tiny",
        "kind": "nohup",
        "launch_id": str(uuid.uuid4()),
        "argv": stand_in(workers=1),
        **OF_VLLM,
    }
    shell.stdin.write(ship.bundle("launch", request, deadline=30))
    shell.stdin.close()
    started = json.loads(shell.stdout.readline())["value"]
    one = launches.load(deployments.folder(), started["launch"])
    assert one is not None
    ready(one, 1)
    os.killpg(shell.pid, signal.SIGHUP)
    os.killpg(shell.pid, signal.SIGKILL)
    shell.stdout.close()
    shell.wait()
    os.killpg(one.pid or 0, signal.SIGHUP)  # a terminal that hangs up reaches the launch's group at worst
    eventually(lambda: len(launches.members(one, launches.table())) == 3)
    assert one.exit_code() is None
