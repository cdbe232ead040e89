"""What do these commands say? All of them are asked at once, so that reading a host takes one round trip."""

from __future__ import annotations

import base64
import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from typing import Any

LIMIT = 1 << 20
"""Bytes kept of each output; no fact is that long."""


def main(request: dict[str, Any]) -> dict[str, Any]:
    """`commands` maps a name to {argv, timeout, environment}; every `~` that begins an item is the home folder here.

    The answer maps each name to {rc, stdout, stderr} (base64), {missing: path} where the program does not
    exist, {refused: sentence} where it may not be run, or {timed_out: seconds, stdout: what it had said by then}.
    """
    return begin(request)()


def begin(request: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    """Start the commands; what is returned waits for them and gives the answer of `main`."""
    answers: dict[str, Any] = {}
    threads = []
    for name, command in request["commands"].items():
        argv = [os.path.expanduser(item) for item in command["argv"]]
        timeout = float(command["timeout"])
        # a daemon: a program stuck in the driver cannot even be killed, and must not hold up the answer
        environment = {**os.environ, "LC_ALL": "C", **command.get("environment", {})}
        arguments = (answers, name, argv, timeout, environment)
        thread = threading.Thread(target=_ask, args=arguments, daemon=True)
        thread.start()
        threads.append((thread, name, timeout))

    def wait() -> dict[str, Any]:
        for thread, name, timeout in threads:
            thread.join(timeout + 3)
            answers.setdefault(name, {"timed_out": timeout})
        return dict(answers)

    return wait


def _ask(
    answers: dict[str, Any], name: str, argv: list[str], timeout: float, environment: dict[str, str]
) -> None:
    try:
        answers[name] = _run(argv, timeout, environment)
    except Exception as error:  # whatever it is, the other commands have their say
        answers[name] = {"refused": f"{argv[0]}: {error}"}


def _run(argv: list[str], timeout: float, environment: dict[str, str]) -> dict[str, Any]:
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=environment,
        )
    except FileNotFoundError:
        return {"missing": argv[0]}
    except (OSError, ValueError) as error:
        return {"refused": f"{argv[0]}: {getattr(error, 'strerror', None) or error}"}
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        printed = b""
        with contextlib.suppress(subprocess.TimeoutExpired):
            printed, _ = process.communicate(timeout=2)
        return {"timed_out": timeout, "stdout": _packed(printed)}
    return {"rc": process.returncode, "stdout": _packed(stdout), "stderr": _packed(stderr)}


def _packed(data: bytes) -> str:
    return base64.b64encode(data[:LIMIT]).decode("ascii")
