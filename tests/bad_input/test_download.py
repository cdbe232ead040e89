"""A repository that does not give what is asked for, and a disk that does not take it."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator

import pytest

from tests.bad_input.refused import ONE_CARD, not_downloaded, the_error
from tests.deployments import REPOSITORY, Case
from tests.waiting import PATIENCE_SECONDS, eventually


def test_a_gated_repository(case: Case) -> None:
    case.hub.gated, case.hub.token = True, "granted"
    error = not_downloaded(case, code="hub_gated")
    assert REPOSITORY in error["message"]
    assert "hf auth login" in error["next"]


def test_a_missing_repository(case: Case) -> None:
    case.content["model"] = {"repository": "deploy-tests/nothing"}
    case.write()
    error = not_downloaded(case, code="hub_not_found")
    assert "deploy-tests/nothing" in error["message"]
    assert error["next"] == f"deploy show {case.path}"


def test_a_disk_that_is_too_small(case: Case) -> None:
    case.hub.claim["model-00001-of-00006.safetensors"] = 1 << 60
    error = not_downloaded(case, code="disk_full")
    assert str(case.checkpoint) in error["message"]
    assert error["next"].startswith("df -h")


@pytest.fixture
def small_disk(case: Case) -> Iterator[Case]:
    """The checkpoint's folder on a file system of 8 MB of its own, about twice the checkpoint."""
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("only root can mount a small file system")
    case.checkpoint.mkdir()
    options = ["-t", "tmpfs", "-o", "size=8m", "deploy-tests", str(case.checkpoint)]
    done = subprocess.run([mount, *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield case
        case.deploy("stop", "PLAYBOOK")
    finally:
        subprocess.run(["umount", "--lazy", str(case.checkpoint)], check=True)


def test_a_disk_that_somebody_fills_during_the_download(small_disk: Case) -> None:
    case, late = small_disk, "model-00004-of-00006.safetensors"
    case.content |= ONE_CARD
    case.write()
    case.hub.hold[late] = threading.Event()
    filler = case.checkpoint / "somebody-elses"
    config = case.checkpoint / "config.json"

    def fill() -> None:
        case.hub.held.wait(PATIENCE_SECONDS)
        eventually(
            config.exists
        )  # it has its name once it is whole: what is asked for below is not still on its way
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 16))
            except OSError:
                case.hub.hold[late].set()

    other = threading.Thread(target=fill)
    other.start()
    left = case.deploy("PLAYBOOK", "--json")
    other.join()
    assert left.code == 5, left.out + left.err
    error = the_error(left)
    assert error["code"] == "disk_full"
    assert "No space left on device" in error["message"]
    assert error["next"] == f"df -h {case.checkpoint}  # on {case.server.alias}"
    assert not (case.state / "launches").exists()
    assert filler.exists()

    filler.unlink()
    again = case.deploy("PLAYBOOK", "--json")
    assert again.code == 0, again.out + again.err
    whole = [one.file for one in case.hub.requests if one.method == "GET" and one.file == "config.json"]
    assert len(whole) == 1  # what had arrived was not fetched again
