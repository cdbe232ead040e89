"""The wheel holds what runs, all of it, and nothing else; its first run is as fast as any."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from orchestrator.patches import catalogue

ROOT = Path(__file__).parents[1]


def built(target: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (file,) = folder.iterdir()
    return file


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(built("wheel", tmp_path_factory.mktemp("dist"))) as wheel:
        wheel.extractall(folder)
    return folder


def below(folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_it_holds_the_program_its_playbooks_and_patches_and_nothing_else(unpacked: Path) -> None:
    held = below(unpacked / "orchestrator")
    (compiled,) = (name for name in held if name.startswith("data/compiled/"))
    data = {
        f"data/{kind}/{name}" for kind in ("playbooks", "profiles", "patches") for name in below(ROOT / kind)
    }
    assert held == {compiled, *data, *below(ROOT / "orchestrator")}
    assert {Path(name).suffix for name in data} == {".yaml"}
    assert {path.name.partition("-")[0] for path in unpacked.iterdir()} == {"orchestrator", "vllm_deploy"}


def test_the_first_run_reads_no_patch_and_keeps_none(unpacked: Path, tmp_path: Path) -> None:
    program = """
from orchestrator.patches import catalogue
catalogue.load_model = None
for patch in catalogue.load_all():
    print(patch.model_dump_json())
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        patch.model_dump_json() for patch in catalogue.load([ROOT / "patches"])
    ]
    assert list(tmp_path.iterdir()) == []


def test_an_editable_installation_reads_them_too(tmp_path: Path) -> None:
    """For every home, beside the code, where Python keeps what it compiled."""
    program = """
import sys
from hatch_build import CompiledPatches
from orchestrator.patches import catalogue
sys.pycache_prefix = sys.argv[2]
CompiledPatches(sys.argv[1], {}, None, None, "", "wheel").initialize("editable", {})
"""
    command = [sys.executable, "-c", program, str(ROOT), str(tmp_path / "compiled")]
    subprocess.run(command, cwd=ROOT, env={"HOME": str(tmp_path)}, capture_output=True, check=True)
    assert [path.parent.name for path in tmp_path.rglob("*.json")] == ["patches"]
    assert not (tmp_path / ".cache").exists()


def test_the_source_distribution_can_be_tested_and_built(tmp_path: Path) -> None:
    with tarfile.open(built("sdist", tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    cases = {f"tests/diagnosis/cases/{name}" for name in below(ROOT / "tests" / "diagnosis" / "cases")}
    assert names >= {"hatch_build.py", "pyproject.toml", "README.md", *cases}
