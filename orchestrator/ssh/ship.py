"""How does a small program get onto a host and its answer back, without installing anything?

The program's text and its request travel over standard input; only a fixed bootstrap stands in argv,
so neither a request nor a secret in it is ever visible to another user of the host.
"""

from __future__ import annotations

import ast
import functools
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

PACKAGE = "orchestrator.on_host"

BOOTSTRAP = r"""
import sys
sys.path = [folder for folder in sys.path if folder]  # a json.py in the home folder is not our json
import json, types
if sys.version_info < (3, 9):
    print(json.dumps({"error": {"code": "host_python_old", "message": "python %d.%d is older than 3.9" % sys.version_info[:2]}}))
    raise SystemExit(0)
source = sys.stdin.buffer
bundle = json.loads(source.read(int(source.readline())))
if bundle["deadline"]:
    import signal
    signal.setitimer(signal.ITIMER_REAL, bundle["deadline"])
for name in ("orchestrator", "orchestrator.on_host"):
    package = types.ModuleType(name)
    package.__path__ = []
    sys.modules[name] = package
for name, text in bundle["modules"]:
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(text, "<%s>" % name, "exec"), module.__dict__)
    setattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2], module)
out, sys.stdout = sys.stdout, sys.stderr
def say(value):
    out.write(json.dumps(value) + "\n")
    out.flush()
try:
    answer = module.main(bundle["request"])
    if isinstance(answer, types.GeneratorType):
        for value in answer:
            say({"value": value})
    else:
        say({"value": answer})
except sys.modules["orchestrator.on_host.refusal"].Refusal as refusal:
    say({"error": {"code": refusal.code, "message": refusal.sentence}})
except BrokenPipeError:
    pass
except Exception as error:
    import traceback
    say({"error": {"code": "host_script", "message": "%s: %s" % (type(error).__name__, error), "traceback": traceback.format_exc()}})
"""


@functools.cache
def _source(module: str) -> str:
    return resources.files(PACKAGE).joinpath(f"{module}.py").read_text()


@functools.cache
def _imported(text: str) -> tuple[str, ...]:
    """The modules of this package that a module imports; most are imported by many, and parsed once."""
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
            tail = (node.module or "")[len(PACKAGE) + 1 :]
            found += [tail] if tail else [alias.name for alias in node.names]
    return tuple(found)


@functools.cache
def _modules(module: str) -> tuple[tuple[str, str], ...]:
    """The module and everything of this package that it imports, dependencies first."""
    needed: dict[str, str] = {}

    def visit(name: str) -> None:
        if f"{PACKAGE}.{name}" in needed:
            return
        text = _source(name)
        for imported in _imported(text):
            visit(imported)
        needed[f"{PACKAGE}.{name}"] = text

    visit("refusal")
    visit(module)
    return tuple(needed.items())


def bundle(module: str, request: Mapping[str, Any], *, deadline: float | None) -> bytes:
    """What to write to the standard input of `python -c BOOTSTRAP` to run `on_host/MODULE.py`.

    `deadline` in seconds ends the program on the host by itself (SIGALRM), also when the connection
    is gone; None for a program that ends with its input. The bytes hold no NUL, so that a shell can
    carry them.
    """
    text = json.dumps({"modules": _modules(module), "request": dict(request), "deadline": deadline})
    return f"{len(text)}\n{text}".encode("ascii")


def interpreter(python: str, *, site_packages: bool = False) -> list[str]:
    """The command that runs a bundle: isolated from the user's own modules and environment."""
    flags = ["-B", "-u"] if site_packages else ["-I", "-S", "-B", "-u"]
    return [python, *flags, "-c", BOOTSTRAP]
