"""How does a small program get onto a host and its answer back, without installing anything?

The program's text and its request travel over standard input; only a fixed bootstrap stands in argv,
so neither a request nor a secret in it is ever visible to another user of the host.
"""

from __future__ import annotations

import functools
import hashlib
import json
import pkgutil
import re
from collections.abc import Mapping, Sequence
from typing import Any

PACKAGE = "orchestrator.on_host"
ROOMS = (
    "checkpoint",
    "clusters",
    "collectives",
    "environments",
    "files",
    "kinds",
    "ports",
    "processes",
    "programs",
    "removing",
    "secrets",
    "state",
)
"""Folders of the package; what is imported from one is a module."""
_IMPORT = re.compile(
    rf"^ *from {re.escape(PACKAGE)}[.](?P<of>\S+) import (?:[(](?P<lines>[^)]*)[)]|(?P<line>.*))",
    re.MULTILINE,
)
"""As the texts of this package write it. Parsing them as Python takes longer than anything else before the first answer."""
_STANDARD = re.compile(r"^(?:import|from) (?!__future__|orchestrator)([\w.]+)", re.MULTILINE)
"""What a module imports of the standard library as it begins; what it imports on the way only some hosts have."""

_START = r"""
import sys
sys.path = [folder for folder in sys.path if folder]  # a json.py in the home folder is not our json
import json, os, types
if sys.version_info < (3, 9):
    print(json.dumps({"error": {"code": "host_python_old", "message": "python %d.%d is older than 3.9" % sys.version_info[:2]}}), flush=True)
    raise SystemExit(78)
source = sys.stdin.buffer
texts = {}
codes = {}
def prepare(bundle):
    for name, digest, text in bundle["modules"]:
        if text is not None:
            texts[digest] = text
        if digest not in codes:
            codes[digest] = compile(texts[digest], "<%s>" % name, "exec")
def carry_out(bundle):
    if bundle["deadline"]:
        import signal
        signal.setitimer(signal.ITIMER_REAL, bundle["deadline"])
    def add(name):
        room, _, last = name.rpartition(".")
        if room and room not in sys.modules:
            add(room).__path__ = []
        sys.modules[name] = types.ModuleType(name)
        if room:
            setattr(sys.modules[room], last, sys.modules[name])
        return sys.modules[name]
    for name, digest, _ in bundle["modules"]:
        module = add(name)
        exec(codes[digest], module.__dict__)
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

BOOTSTRAP = (
    _START
    + r"""
bundle = json.loads(source.read(int(source.readline())))
prepare(bundle)
carry_out(bundle)
"""
)
"""Runs one bundle; the rest of standard input is the program's."""

RUNNER = (
    _START
    + r"""
for head in iter(source.readline, b""):
    size, token = head.split()
    data = source.read(int(size))
    if len(data) < int(size):
        break
    bundle = json.loads(data)
    prepare(bundle)
    for name in bundle["imports"]:  # once: no fork has to
        try:
            __import__(name)
        except ImportError:  # the program will say so
            pass
    for output in (1, 2):
        os.write(output, token + b"\n")
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        status = 1
        try:
            carry_out(bundle)
            status = 0
        except SystemExit as leave:
            status = leave.code if isinstance(leave.code, int) else 1
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    del bundle, data
    status = os.waitpid(child, 0)[1]
    status = 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    os.write(1, b"\n%s %d\n" % (token, status))
    os.write(2, b"\n%s 0\n" % token)
"""
)
"""Runs one bundle after the other, each in a fork: what they have in common is sent, compiled and imported once."""


@functools.cache
def _source(module: str) -> str:
    text = pkgutil.get_data(PACKAGE, f"{module.replace('.', '/')}.py")
    assert text is not None  # of a loader that can read files
    return text.decode()


@functools.cache
def _imported(text: str) -> tuple[str, ...]:
    """The modules of this package that a module imports; most are imported by many, and read once."""
    modules: list[str] = []
    for imports in _IMPORT.finditer(text):
        names = re.findall(r"\w+", imports["lines"] or imports["line"])
        modules += (
            [f"{imports['of']}.{name}" for name in names] if imports["of"] in ROOMS else [imports["of"]]
        )
    return tuple(modules)


@functools.cache
def _standard(text: str) -> tuple[str, ...]:
    """What a module imports of the standard library."""
    return tuple(_STANDARD.findall(text))


@functools.cache
def _modules(module: str) -> tuple[tuple[str, str, str], ...]:
    """Name, digest and text of the module and of everything in this package that it imports, dependencies first."""
    needed: dict[str, str] = {}

    def visit(name: str) -> None:
        if f"{PACKAGE}.{name}" in needed:
            return
        text = _source(name)
        for imported in _imported(text):
            visit(imported)
        needed[f"{PACKAGE}.{name}"] = text

    visit("refusal")
    visit(f"programs.{module}")
    return tuple(
        (name, hashlib.sha256(text.encode()).hexdigest()[:16], text) for name, text in needed.items()
    )


def bundle(module: str, request: Mapping[str, Any], *, deadline: float | None) -> bytes:
    """What to write to the standard input of `python -c BOOTSTRAP` to run `on_host/programs/MODULE.py`.

    `deadline` in seconds ends the program on the host by itself (SIGALRM), also when the connection
    is gone; None for a program that ends with its input.
    """
    text = _text(_modules(module), (), request, deadline)
    return f"{len(text)}\n{text}".encode("ascii")


def further_bundle(
    module: str, request: Mapping[str, Any], *, deadline: float, token: bytes, sent: set[str]
) -> bytes:
    """The same for a RUNNER: framed by the token, without the texts that were sent before (their digests)."""
    modules = [(name, digest, None if digest in sent else text) for name, digest, text in _modules(module)]
    sent.update(digest for _, digest, _ in modules)
    imports = dict.fromkeys(name for _, _, text in modules for name in _standard(text or ""))
    text = _text(modules, tuple(imports), request, deadline)
    return f"{len(text)} ".encode("ascii") + token + b"\n" + text.encode("ascii")


def _text(
    modules: Sequence[object], imports: Sequence[str], request: Mapping[str, Any], deadline: float | None
) -> str:
    whole = {"modules": modules, "imports": imports, "request": dict(request), "deadline": deadline}
    return json.dumps(whole)


def interpreter(python: str, *, site_packages: bool = False, program: str = BOOTSTRAP) -> list[str]:
    """The command that runs bundles: isolated from the user's own modules and environment."""
    flags = ["-B", "-u"] if site_packages else ["-I", "-S", "-B", "-u"]
    return [python, *flags, "-c", program]
