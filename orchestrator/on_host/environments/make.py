"""How is an environment with one pinned engine made, and when does it count?

It is made under its final path, since an environment cannot be moved. What makes it count is a link to its interpreter,
which is made last, once the engine in it was imported: nothing else ever names that environment's Python, so that a
half-made one is not there for anybody.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.on_host.environments import failure, sizes, uv
from orchestrator.on_host.environments.failure import InstallFailure
from orchestrator.on_host.environments.place import INTERPRETER
from orchestrator.on_host.environments.wheel_bytes import WheelBytes
from orchestrator.on_host.state.detached import Tell

_CHECK_SECONDS = 600
_MEASURING_SECONDS = 10.0
_CHECK = """
import importlib, json, sys
from importlib import metadata
importlib.import_module(sys.argv[1])
print(json.dumps({"version": metadata.version(sys.argv[2]), "python": "%d.%d.%d" % sys.version_info[:3]}))
"""
_DYING_WITH_US = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""
"""Whoever makes the environment anew must not meet a uv that still writes there: the lock goes with our process."""
_OF_AN_ENVIRONMENT = ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYTHONPATH", "UV_PROJECT_ENVIRONMENT")


def make(room: Path, request: Mapping[str, Any], say: Tell) -> dict[str, Any]:
    """Make the environment in `room` anew, or leave it where it counts already; answers {done, version, python, uv, made}.

    request: engine (its distribution), version, module, pythons (a range of versions), left_out (packages that are not
    installed with it), also (another name by which it is known there, and a label behind its version; null for none), indexes (searched before the host's own), pages (of links to wheels, looked at where no index has all
    that is needed), from_wheels (whether those that were sent into `room`/wheels count, without an index where none is named), likely_bytes (that it will take of the disk, null where nobody knows). Raises InstallFailure.
    """
    folder = room / "environment"
    python = folder / INTERPRETER
    pin = f"{request['engine']}=={request['version']}"
    if python.exists():
        return {"done": True, "made": False, **_checked(str(python), request, say)}
    with contextlib.suppress(FileNotFoundError):
        python.unlink()  # a link to an interpreter that is gone
    _require_room(room.parent, request["likely_bytes"])
    say({"phase": "uv", "line": f"looking for uv {uv.VERSION}"})
    wheels = room / "wheels"
    alone = request["from_wheels"] and not request["indexes"]
    tool = uv.at_hand(room.parent, wheels, request["indexes"], offline=alone)
    variables = _variables(room.parent, request["indexes"], offline=alone)
    say({"phase": "environment", "line": f"python {request['pythons']}"})
    _uv(
        [tool, "venv", "--clear", "--python", request["pythons"], str(folder)],
        variables,
        f"making {folder}",
        say,
    )
    say({"phase": "packages", "line": pin})
    inner = str(folder / "bin" / "python3")
    source = ["--find-links", str(wheels)] if request["from_wheels"] else []
    argv = [tool, "pip", "install", "--python", inner, *source, *(["--no-index"] if alone else []), pin]
    _packages(argv, pin, request, variables, say, pages=() if alone else request["pages"])
    answer = _checked(inner, request, say)
    if request["also"]:
        _know_as(folder, *request["also"], version=answer["version"])
    os.sync()
    os.symlink("python3", python)
    shutil.rmtree(wheels, ignore_errors=True)  # they were sent for this environment alone
    return {"done": True, "made": True, **answer}


def _know_as(folder: Path, name: str, label: str, *, version: str) -> None:
    """Have the environment's metadata name the engine once more: `importlib.metadata` takes any folder of that form."""
    (packages,) = folder.glob("lib/python3*/site-packages")
    version = version if "+" in version else f"{version}+{label}"
    metadata = packages / f"{name}-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def _require_room(engines: Path, likely: int | None) -> None:
    """What an earlier installation left in the cache is not fetched again, and shared with the environment."""
    cached = sizes.taken(engines / "cache", until=time.monotonic() + _MEASURING_SECONDS) or 0
    free = sizes.free(engines)
    if likely is not None and likely - cached > free:
        needs, has = (f"{count / 1e9:.1f} GB" for count in (likely, free))
        message = f"it will likely take {needs} of the disk, and {has} are free in {engines}"
        raise InstallFailure("install_no_space", message)


def _packages(
    argv: Sequence[str],
    pin: str,
    request: Mapping[str, Any],
    variables: Mapping[str, str],
    say: Tell,
    *,
    pages: Sequence[str],
) -> None:
    """Install the engine with what it names; the pages come second, since a host may reach a mirror of the index alone."""
    doing = f"installing {pin}"
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as never:
        never.writelines(f"{name} ; python_version < '3'\n" for name in request["left_out"])
        never.flush()
        argv = [*argv, *(["--overrides", never.name] if request["left_out"] else [])]
        try:
            _uv(argv, variables, doing, say)
        except InstallFailure as error:
            if error.code != "engine_not_found" or not pages:
                raise
            links = [word for page in pages for word in ("--find-links", page)]
            try:
                _uv([*argv, *links], variables, doing, say)
            except InstallFailure as second:
                raise InstallFailure(second.code, f"{error.message}\n{second.message}") from None


def _variables(engines: Path, indexes: Sequence[str], *, offline: bool) -> dict[str, str]:
    """What uv is run with: the host's own settings stay (proxies, certificates, mirrors), no environment of somebody else."""
    own = {name: value for name, value in os.environ.items() if name not in _OF_AN_ENVIRONMENT}
    given = {"UV_INDEX": " ".join((*indexes, *own.get("UV_INDEX", "").split()))} if indexes else {}
    return {
        **own,
        **given,
        **({"UV_OFFLINE": "1"} if offline else {}),  # no Python is looked for in vain either
        "UV_CACHE_DIR": str(
            engines / "cache"
        ),  # beside them: what several have in common is there once, by hard links
        "UV_PYTHON_INSTALL_DIR": str(engines / "pythons"),
        "UV_NO_PROGRESS": "1",
        "NO_COLOR": "1",
    }


def _uv(argv: Sequence[str], variables: Mapping[str, str], doing: str, say: Tell) -> None:
    """Run uv to its end, each line told; raises InstallFailure with its last lines."""
    phase = "environment" if argv[1] == "venv" else "packages"
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _DYING_WITH_US, str(os.getpid()), *argv],
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd="/",
        )
    except OSError as error:
        raise failure.of_system(doing, error) from error
    lines: list[str] = []
    wheels = WheelBytes()
    assert process.stdout is not None
    with process.stdout:
        for raw in process.stdout:
            line = raw.decode("utf-8", "replace").rstrip()
            print(line, file=sys.stderr)
            lines.append(line)
            if line.strip():
                say({"phase": phase, "line": line.strip()[:200], **wheels.after(line)})
    rc = process.wait()
    if rc != 0:
        raise failure.of_uv(doing, "\n".join(lines), rc)


def _checked(python: str, request: Mapping[str, Any], say: Tell) -> dict[str, Any]:
    """That the engine can be imported there and is the one that was asked for."""
    say({"phase": "check", "line": f"import {request['module']}"})
    argv = [python, "-I", "-B", "-c", _CHECK, request["module"], request["engine"]]
    try:
        done = subprocess.run(
            argv, capture_output=True, timeout=_CHECK_SECONDS, cwd="/", stdin=subprocess.DEVNULL, check=False
        )
    except subprocess.TimeoutExpired:
        message = f"import {request['module']} took more than {_CHECK_SECONDS} s in {python}"
        raise InstallFailure("engine_check", message) from None
    except OSError as error:
        raise failure.of_system(f"running {python}", error) from error
    try:
        answer = json.loads(done.stdout.splitlines()[-1])
        version, release = str(answer["version"]), str(answer["python"])
    except (ValueError, IndexError, TypeError, KeyError):
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["it printed nothing"]
        message = f"{request['module']} cannot be imported by {python}: {last[0]}"
        raise InstallFailure("engine_check", message) from None
    if not _is(version, request["version"]):
        message = f"{python} has {request['engine']} {version}, not {request['version']}"
        raise InstallFailure("engine_check", message)
    return {"version": version, "python": release}


def _is(version: str, pinned: str) -> bool:
    """Whether it is the pinned one: 0.16 is 0.16.0, and where no build is named any will do."""
    wanted, _, build = pinned.partition("+")
    release, _, label = version.partition("+")
    return re.sub(r"(\.0)+$", "", release) == re.sub(r"(\.0)+$", "", wanted) and build in ("", label)
