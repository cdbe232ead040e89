"""An engine of our own goes, with what only it had; what somebody uses stays."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.programs import remove_engine
from orchestrator.on_host.refusal import Refusal
from tests.on_host.programs.engine_rooms import launch, room


def remove(**more: Any) -> dict[str, Any]:
    return remove_engine.main({"engine": "vllm", "version": "0.16.0", "used": False, **more})


def refusal(**more: Any) -> tuple[str, str]:
    with pytest.raises(Refusal) as refused:
        remove(**more)
    return refused.value.code, refused.value.sentence


def test_it_goes_with_what_only_it_had_in_the_cache(home: Path) -> None:
    ours, other = (room(home, f"vllm-{version}", whole=True) for version in ("0.16.0", "0.19.1"))
    unpacked = ours.parent / "cache/archive-v0"
    for name in ("own", "both", "nobodys"):
        (unpacked / name).mkdir(parents=True)
        (unpacked / name / "torch.so").write_bytes(b"x")
    os.link(unpacked / "own/torch.so", ours / "environment/own.so")
    for place in (ours, other):
        os.link(unpacked / "both/torch.so", place / "environment/both.so")
    assert remove()["freed_bytes"] >= 0
    assert not ours.exists()
    assert (other / "environment/bin/engine-python").exists()
    assert [path.name for path in unpacked.iterdir()] == ["both"]
    assert sorted(path.name for path in ours.parent.iterdir()) == ["cache", "journal.jsonl", "vllm-0.19.1"]
    (record,) = map(json.loads, (ours.parent / "journal.jsonl").read_text().splitlines())
    assert (record["action"], record["engine"]) == ("remove", "vllm==0.16.0")


def test_what_an_earlier_removal_was_ended_in_goes_too(home: Path) -> None:
    ours = room(home, "vllm-0.16.0", whole=True)
    left = ours.with_name(f"vllm-0.15.0{remove_engine.removal.ASIDE}-123")
    (left / "environment").mkdir(parents=True)
    remove()
    assert not left.exists()


def test_a_half_made_one_may_go(home: Path) -> None:
    ours = room(home, "vllm-0.16.0", whole=False)
    remove()
    assert not ours.exists()


def test_what_a_deployment_would_be_started_by_takes_a_consent(home: Path) -> None:
    ours = room(home, "vllm-0.16.0", whole=True)
    launch(home, "kimi", 1, ours / "environment/bin/engine-python")
    code, sentence = refusal()
    assert (code, "launch 1 of kimi uses vllm==0.16.0" in sentence) == ("engine_in_use", True)
    assert ours.exists()
    remove(used=True)
    assert not ours.exists()


@pytest.mark.parametrize(("launched", "refused"), [(None, True), ("this", True), ("another", False)])
def test_what_is_being_deployed_now_may_be_about_to_use_it(
    home: Path, launched: str | None, refused: bool
) -> None:
    ours = room(home, "vllm-0.16.0", whole=True)
    if launched:
        python = ours if launched == "this" else room(home, "vllm-0.19.1", whole=True)
        launch(home, "kimi", 1, python / "environment/bin/engine-python")
    state = home / ".local/state/deploy/kimi"
    state.mkdir(parents=True, exist_ok=True)
    with (state / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if refused:
            code, sentence = refusal(used=True)
            assert (code, "kimi" in sentence) == ("engine_in_use", True)
        else:
            remove()
    assert ours.exists() is refused


def test_what_runs_by_it_keeps_it_whoever_started_that(home: Path) -> None:
    ours = room(home, "vllm-0.16.0", whole=True)
    python = ours / "environment/bin/python3"
    python.unlink()
    shutil.copy(shutil.which("sleep") or "/bin/sleep", python)
    process = subprocess.Popen([ours / "environment/bin/engine-python", "60"])
    try:
        code, sentence = refusal(used=True)
        assert (code, f"pid {process.pid}" in sentence) == ("engine_kept", True)
        assert ours.exists()
    finally:
        process.kill()
        process.wait()


def test_what_is_being_made_stays(home: Path) -> None:
    ours = room(home, "vllm-0.16.0", whole=False)
    with (ours / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert refusal()[0] == "engine_busy"


def test_what_is_not_there(home: Path) -> None:
    assert refusal()[0] == "no_such_engine"
    assert refusal(version="../0")[0] == "bad_request"
