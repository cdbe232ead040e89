"""A host that lacks what a deployment needs: an interpreter, an engine, cards."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.facts import gather
from orchestrator.facts.source import Query, plain
from tests import stand_in
from tests.bad_input.conftest import Program
from tests.bad_input.refused import refused
from tests.deployments import Case


class TestPython:
    """The interpreter that runs our programs on the host."""

    def test_a_mute_one_is_passed_over_for_the_engines(self, whole: Case, program: Program) -> None:
        program("python3", "exit 0")
        left = whole.deploy("plan", "PLAYBOOK", "--json")
        assert left.code == 0, left.err
        assert json.loads(left.out)["engine"]["version"] == "0.16.0"

    @pytest.mark.parametrize(
        ("script", "code"),
        [
            ("exit 0", "host_python_missing"),
            ("exec /nowhere/python3", "host_python_missing"),
            (
                "for last; do :; done\n"
                f"PROGRAM=$last exec {sys.executable} -I -S -B -u -c 'import os, sys; "
                'sys.version_info = (3, 6, 9, "final", 0); exec(os.environ["PROGRAM"])\'',
                "host_python_old",
            ),
        ],
        ids=["mute", "missing", "old"],
    )
    def test_none_that_works(self, whole: Case, program: Program, script: str, code: str) -> None:
        program("python3", script)
        whole.content["engine"] = {"python": "python3"}
        whole.write()
        error = refused(whole, exit_code=3, code=code)
        assert "python3" in error["message"]
        assert "python3 --version" in error["next"]


class TestEngine:
    def test_a_version_outside_the_range(self, whole: Case, engine: stand_in.StandIn) -> None:
        whole.content["engine"] = {"python": engine.python, "version": ">=0.17,<0.20"}
        whole.write()
        error = refused(whole, exit_code=4, code="engine_version")
        assert "vLLM 0.16.0 is outside >=0.17,<0.20" in error["message"]
        assert error["next"].endswith("--set engine.install=vllm==0.19.1")

    def test_no_vllm(self, whole: Case, tmp_path: Path) -> None:
        bare = stand_in.make(tmp_path / "bare", version="")
        whole.content["engine"] = {"python": bare.python}
        whole.write()
        error = refused(whole, exit_code=4, code="no_engine")
        assert f"vllm is not installed in {bare.python}" in error["message"]
        assert " --set engine.install=vllm==" in error["next"]

    @pytest.mark.parametrize(
        ("script", "way"), [(None, "install=vllm=="), ("exit 0", "python=PATH")], ids=["missing", "mute"]
    )
    def test_an_interpreter_that_is_none(
        self, whole: Case, program: Program, first_on_path: Path, script: str | None, way: str
    ) -> None:
        if script is not None:
            program("engine-python", script)
        whole.content["engine"] = {"python": str(first_on_path / "engine-python")}
        whole.write()
        error = refused(whole, exit_code=4, code="no_engine")
        assert "engine-python" in error["message"]
        assert f" --set engine.{way}" in error["next"]


class TestCards:
    def test_no_nvidia_smi(self, whole: Case, engine: stand_in.StandIn) -> None:
        if shutil.which("nvidia-smi"):
            pytest.skip("this machine has a nvidia-smi of its own")
        real = engine.folder / "tools" / "nvidia-smi"
        away = real.rename(real.with_name("away"))
        try:
            error = refused(whole, exit_code=4, code="gpus_unknown")
        finally:
            away.rename(real)
        assert "nvidia-smi is not on the host's PATH" in error["message"]

    @pytest.mark.parametrize(
        ("script", "says"),
        [
            (
                'echo "NVIDIA-SMI has failed because it couldn\'t communicate with the NVIDIA driver."; exit 9',
                "the NVIDIA driver is not loaded",
            ),
            ("kill -SEGV $$", "Segmentation fault"),
            ("printf '\\377\\376\\033[31mgarbage\\n'", "garbage"),
        ],
        ids=["driver", "crash", "garbage"],
    )
    def test_a_nvidia_smi_that_fails(self, whole: Case, program: Program, script: str, says: str) -> None:
        program("nvidia-smi", script)
        error = refused(whole, exit_code=4, code="gpus_unknown")
        assert says in error["message"]
        assert error["next"].startswith("nvidia-smi")

    def test_a_nvidia_smi_that_hangs(
        self, whole: Case, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        impatient = [
            replace(fact, command=plain(replace(fact.command(Query("")), timeout=0.2)))  # type: ignore[type-var]
            if fact.name in ("gpus", "driver", "topology", "p2p", "gpu_processes")
            else fact
            for fact in gather.usual()
        ]
        monkeypatch.setattr(gather, "usual", lambda: impatient)
        program("nvidia-smi", "exec sleep 30")
        error = refused(whole, exit_code=4, code="gpus_unknown")
        assert "0.2 s" in error["message"]

    def test_fewer_than_asked(self, whole: Case, program: Program, engine: stand_in.StandIn) -> None:
        program("nvidia-smi", f"'{engine.folder}/tools/nvidia-smi' \"$@\" | head -n 4")
        error = refused(whole, exit_code=4, code="gpus_missing")
        assert f"has 4 GPUs, {whole.name} needs 8" in error["message"]
