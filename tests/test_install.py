"""The main job on a host that has no engine: one is installed over a real sshd by the real uv, and serves."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.environments import uv
from tests import stand_in
from tests.deploy import Deploy, Left
from tests.deployments import REPOSITORY, Case
from tests.package_index import PackageIndex, stand_in_wheel, uv_wheel, wheel
from tests.sshd import Settings, Sshd, end_sshd, launch_sshd
from tests.striking import Run, Told
from tests.waiting import PATIENCE_SECONDS, eventually

WHEEL = "vllm-0.16.0-py3-none-any.whl"
INSTALLED = ".local/share/deploy/engines/vllm-0.16.0"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> stand_in.StandIn:
    """The cards of a host whose Python has no vLLM."""
    return stand_in.make(tmp_path_factory.mktemp("env") / "bare", version="")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PackageIndex]:
    binary = uv_wheel()
    if binary is None:
        pytest.skip(f"uv {uv.VERSION} cannot be had here")
    wheels = tmp_path_factory.mktemp("wheels")
    (wheels / binary.name).symlink_to(binary)
    stand_in_wheel(wheels, "0.16.0")
    with PackageIndex(wheels) as serving:
        yield serving


@pytest.fixture
def server(engine: stand_in.StandIn) -> Iterator[Sshd]:
    running = launch_sshd(Settings(environment={"PATH": engine.path, "UV_PYTHON_DOWNLOADS": "never"}))
    yield running
    end_sshd(running)


@pytest.fixture
def bare(case: Case, index: PackageIndex) -> Case:
    """A playbook that names no Python, on a host without an engine."""
    case.content["engine"] = {"version": ">=0.15", "install": "vllm==0.16.0", "index": [index.url]}
    case.write()
    return case


def _error(left: Left) -> dict[str, Any]:
    (event,) = left.of("error")
    error: dict[str, Any] = event["error"]
    return error


def test_an_engine_is_installed_with_consent_used_listed_and_removed(bare: Case) -> None:
    installed = bare.server.home / INSTALLED
    asked = bare.deploy("PLAYBOOK", "--json")
    assert asked.code == 4
    refused = _error(asked)
    assert refused["code"] == "consent_missing"
    assert "install-engine" in refused["next"]
    assert not installed.exists()

    dry = bare.deploy("plan", "PLAYBOOK", "--json", "--consent", "install-engine")
    assert dry.code == 0, dry.out
    planned = json.loads(dry.out)
    first = planned["steps"][0]
    assert (first["name"], first["network_bytes"]) == ("install", None)
    assert first["files"] == [f"~/{INSTALLED}"]
    assert planned["engine"]["version"] == "0.16.0"
    certain = [each for each in planned["predictions"] if each["certainty"] == "certain"]
    assert certain == []  # the files are not there yet; the version is known all the same
    assert not installed.exists()

    left = bare.deploy("PLAYBOOK", "--json", "--consent", "install-engine")
    assert left.code == 0, left.out + left.err
    assert bare.actions()[0] == "install"
    assert "vllm==0.16.0" in bare.deploy("history", "PLAYBOOK").out
    python = str(installed / "environment/bin/engine-python")
    launched = json.loads((bare.state / "launches/1/command.json").read_text())
    assert launched["argv"][0] == python

    bare.deploy("stop", "PLAYBOOK")
    again = bare.deploy("PLAYBOOK", "--json")  # nothing is left to consent to
    assert again.code == 0, again.out + again.err
    assert bare.actions().count("install") == 1

    listed = bare.deploy("engine", "list", "--json")
    (row,) = json.loads(listed.out)["engines"]
    assert (row["engine"], row["version"], row["state"], row["ours"]) == ("vllm", "0.16.0", "whole", True)
    assert row["bytes"] > 0
    assert row["used_by"] == [{"deployment": bare.name, "launch": 2, "alive": True}]
    assert "runs)" in bare.deploy("engine", "list").out

    remove = ["engine", "remove", "vllm==0.16.0", "--json"]
    lives = bare.deploy(*remove, "--consent", "remove-used-engine")
    assert (lives.code, _error(lives)["code"]) == (4, "engine_in_use")
    bare.deploy("stop", "PLAYBOOK")
    used = bare.deploy(*remove)
    assert (used.code, _error(used)["next"].endswith("--consent remove-used-engine")) == (4, True)
    removed = bare.deploy(*remove, "--consent", "remove-used-engine")
    assert removed.code == 0, removed.out + removed.err
    assert not (bare.server.home / INSTALLED).exists()
    absent = bare.deploy(*remove)
    assert (absent.code, _error(absent)["code"]) == (2, "no_such_engine")


def test_an_engine_is_installed_whoever_will_use_it(bare: Case) -> None:
    """The host has cards, so that it gets the build for them."""
    (index,) = bare.content["engine"]["index"]  # type: ignore[index]
    spec = ["vllm==0.16.0", "--index", index, "--json"]
    refused = bare.deploy("engine", "install", *spec)
    assert (refused.code, _error(refused)["code"]) == (4, "consent_missing")
    (plan,) = refused.of("plan")
    assert (plan["engine"], plan["likely_bytes"], plan["steps"][0]["name"]) == (
        "vllm==0.16.0",
        10_000_000_000,
        "install",
    )
    assert bare.deploy("engine", "install", *spec, "--dry-run", "--yes").code == 0
    assert not (bare.server.home / INSTALLED).exists()

    left = bare.deploy("engine", "install", *spec, "--yes")
    assert left.code == 0, left.out + left.err
    (result,) = left.of("result")
    assert result["changed"] is True
    assert "deploy engine remove vllm==0.16.0 --host" in result["text"]
    again = bare.deploy("engine", "install", *spec)  # nothing is left to consent to
    assert (again.code, again.of("result")[0]["changed"]) == (0, False)


def test_it_goes_on_when_its_deployer_is_killed_and_when_the_connection_ends(
    bare: Case, index: PackageIndex
) -> None:
    """Whoever asks next joins it, or finds it done: it is made once."""
    words = ("engine", "install", "vllm==0.16.0", "--index", index.url, "--yes")
    index.held.clear()
    index.requests.clear()
    index.hold[WHEEL] = threading.Event()
    killed, cut_off = Run(bare, 1, *words), None
    try:
        assert index.held.wait(PATIENCE_SECONDS)
        killed.strike("kill")
        cut_off = Run(bare, 2, *words, moments=[Told("install", "started")])
        eventually(cut_off.stopped)
        cut_off.strike("closed")
        assert cut_off.end() == 3
        (error,) = cut_off.of("error")
        assert error["error"]["code"] == "connection_lost"
        assert "deploy engine install vllm==0.16.0" in error["error"]["next"]
    finally:
        index.hold.pop(WHEEL).set()
        for run in filter(None, (killed, cut_off)):
            run.close()
    left = bare.deploy(*words, "--json")
    assert left.code == 0, left.out + left.err
    assert (bare.server.home / INSTALLED / "environment/bin/engine-python").exists()
    assert index.requests.count("/simple/vllm/") == 1


def test_an_engine_comes_from_this_machine_to_a_host_without_any_network(
    bare: Case, index: PackageIndex, tmp_path: Path
) -> None:
    """The wheels of a folder here, and uv, which this machine gets from its index; what was cut off is gone on with."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    shutil.copy(index.folder / WHEEL, wheels)
    wheel(wheels, "a-large-one", "1", {"large": os.urandom(8 << 20)})
    words = ("engine", "install", "vllm==0.16.0", "--wheels", str(wheels), "--yes")
    bare.deploy = Deploy(bare.server, bare.path, bare.home, {"UV_DEFAULT_INDEX": index.url})
    cut_off = Run(bare, 1, *words, moments=[Told("send", "progress", 3)])
    arrived = bare.server.home / INSTALLED / "wheels"
    try:
        eventually(cut_off.stopped)
        eventually(lambda: any(part.stat().st_size for part in arrived.glob("*.part")))
        cut_off.strike("closed")
        assert cut_off.end() == 3
    finally:
        cut_off.close()
    left = bare.deploy(*words, "--json")
    assert left.code == 0, left.out + left.err
    ends = [step for step in left.of("step") if step["state"] != "started"]
    assert [(step["step"], step["state"]) for step in ends] == [
        ("send", "ok"),
        ("install", "skipped"),  # it gets no uv
        ("send", "ok"),
        ("install", "ok"),
    ]
    assert ends[0]["sent"] < ends[0]["bytes"]
    assert ends[2]["sent"] < ends[2]["bytes"]  # only uv went there
    assert (bare.server.home / INSTALLED / "environment/bin/engine-python").exists()
    assert not (bare.server.home / INSTALLED / "wheels").exists()


def test_what_is_changed_later_is_not_used_and_not_made_anew(bare: Case, index: PackageIndex) -> None:
    assert bare.deploy("PLAYBOOK", "--json", "--consent", "install-engine").code == 0
    bare.deploy("stop", "PLAYBOOK")
    (metadata,) = (bare.server.home / INSTALLED).rglob("vllm-0.16.0.dist-info/METADATA")
    metadata.write_text(metadata.read_text().replace("Version: 0.16.0", "Version: 0.17.0"))
    left = bare.deploy("PLAYBOOK", "--json", "--consent", "install-engine")
    assert left.code == 4
    error = _error(left)
    assert error["code"] == "engine_changed"
    assert error["message"].endswith("is no longer as it was installed: it has vllm 0.17.0")


def test_a_version_that_no_index_has_is_told_as_uv_tells_it(bare: Case) -> None:
    bare.content["engine"]["install"] = "vllm==0.99.0"  # type: ignore[index]
    bare.write()
    left = bare.deploy("PLAYBOOK", "--json", "--consent", "install-engine")
    assert left.code == 4
    error = _error(left)
    assert error["code"] == "engine_not_found"
    assert "no version of vllm==0.99.0" in error["message"]
    assert error["next"].endswith(f"# on {bare.server.alias}")


def test_a_model_without_a_playbook_brings_its_engine_along(
    bare: Case, index: PackageIndex, tmp_path: Path
) -> None:
    deploy = Deploy(bare.server, bare.path, tmp_path / "home", {"HF_ENDPOINT": bare.hub.endpoint})
    engine = ["--set", "engine.install=vllm==0.16.0", "--set", f"engine.index=[{index.url}]"]
    usual = ["--set", f"port={bare.content['port']}", "--env", f"HF_ENDPOINT={bare.hub.endpoint}"]
    left = deploy(REPOSITORY, "--json", *engine, *usual, "--consent", "install-engine")
    assert left.code == 0, left.out + left.err
    (first, *_) = left.of("plan")
    assert first["engine"]["version"] == "0.16.0"
    assert first["steps"][0]["name"] == "install"
    assert deploy("stop", REPOSITORY, *engine, *usual).code == 0
