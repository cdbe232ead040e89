"""The whole job over a real sshd, with stand-ins for the engine and the cards (tests/stand_in says what is real)."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from tests.deploy import Left, held_in_shm
from tests.deployments import REPOSITORY, Case, original
from tests.ports import free_port
from tests.waiting import PATIENCE_SECONDS, eventually, running


def shared_memory_of(case: Case) -> set[str]:
    """Names in /dev/shm that the deployment's processes have mapped."""
    return held_in_shm(json.loads(case.deploy("status", "PLAYBOOK", "--json").out)["members"])


def test_the_story(case: Case, repositories: Path) -> None:
    """Download, verify, a refused launch, its root cause, both files patched, a healthy launch; then all back."""
    left = case.deploy("PLAYBOOK", "--no-predict", "--json")
    assert left.code == 0, left.out + left.err
    (finding,) = left.of("finding")
    assert finding["patch"] == "fp8-kv-mla"
    root = finding["diagnosis"]["root_cause"]
    assert root["process"] == "Worker_TP4"
    assert "No valid attention backend found for cuda" in root["text"]
    assert len(finding["diagnosis"]["folded"]["processes"]) == 7
    assert json.loads(case.config())["quantization_config"].get("kv_cache_scheme") is None
    assert json.loads(case.config("hf_quant_config.json"))["quantization"]["kv_cache_quant_algo"] is None
    (result,) = left.of("result")
    assert result["healthy"] and result["changed"]
    launches = [record["launch"] for record in case.journal() if record["action"] == "launch"]
    assert launches == [1, 2]

    again = case.deploy("PLAYBOOK", "--json")
    assert again.code == 0
    assert [result["changed"] for result in again.of("result")] == [False]
    assert [record["launch"] for record in case.journal() if record["action"] == "launch"] == [1, 2]

    assert case.deploy("revert", "PLAYBOOK").code == 0
    for name in ("config.json", "hf_quant_config.json"):
        assert case.config(name) == original(repositories, name)
    held = shared_memory_of(case)
    assert len(held) >= 8
    stopped = case.deploy("stop", "PLAYBOOK", "--json")
    assert stopped.code == 0
    status = json.loads(case.deploy("status", "PLAYBOOK", "--json").out)
    assert (status["state"], status["members"]) == ("stopped", [])
    assert not held & set(os.listdir("/dev/shm"))
    (*_, last) = [record for record in case.journal() if record["action"] == "stop"]
    assert held <= set(last["shm_removed"])  # type: ignore[call-overload]


def test_the_story_of_a_plain_user(plain_case: Case, repositories: Path) -> None:
    left = plain_case.deploy("PLAYBOOK", "--no-predict", "--json")
    assert left.code == 0, left.out + left.err
    assert [finding["patch"] for finding in left.of("finding")] == ["fp8-kv-mla"]
    assert (plain_case.checkpoint / "config.json").stat().st_uid == plain_case.checkpoint.stat().st_uid != 0
    assert plain_case.hub.requests == []
    assert plain_case.deploy("revert", "PLAYBOOK").code == 0
    assert plain_case.config() == original(repositories, "config.json")
    status = json.loads(plain_case.deploy("status", "PLAYBOOK", "--json").out)
    assert status["state"] == "healthy"
    assert plain_case.deploy("stop", "PLAYBOOK").code == 0


def test_a_certain_failure_is_repaired_before_the_first_launch(case: Case) -> None:
    case.content["arguments"] = {"task": "generate"}  # which this release calls otherwise
    case.write()
    planned = json.loads(case.deploy("plan", "PLAYBOOK", "--json").out)
    assert [each["asked"] for each in planned["adaptations"]] == ["--task generate"]
    certain = [each for each in planned["predictions"] if each["certainty"] == "certain"]
    assert certain == []  # neither files nor figures speak of FP8 yet
    left = case.deploy("PLAYBOOK", "--json")
    assert left.code == 0, left.out + left.err
    assert left.of("finding") == []
    assert case.actions() == ["patch", "launch", "outcome"]
    (launch,) = [record for record in case.journal() if record["action"] == "launch"]
    assert launch["argv"] == planned["command"]
    assert planned["command"][-2:] == ["--runner", "generate"]
    upgraded = ("plan", "PLAYBOOK", "--json", "--vllm", "0.20.2")
    assert json.loads(case.deploy(*upgraded).out)["retired"] == [{"patch": "fp8-kv-mla", "since": "0.18"}]
    assert case.deploy("revert", "PLAYBOOK", "--patch", "fp8-kv-mla").code == 0
    assert json.loads(case.deploy(*upgraded).out)["retired"] == []


def looks(left: Left) -> int:
    """How often the host was looked at."""
    return sum(wait["step"] == "look at" and wait["state"] == "started" for wait in left.of("wait"))


def test_the_host_is_looked_at_again_only_where_something_changed(case: Case, repositories: Path) -> None:
    fetched = case.deploy("PLAYBOOK", "--json")
    assert fetched.code == 0, fetched.out + fetched.err
    assert looks(fetched) == 2  # the files that came may ask for a patch
    assert case.deploy("stop", "PLAYBOOK").code == 0
    there = case.deploy("PLAYBOOK", "--json")
    assert there.code == 0, there.out + there.err
    assert looks(there) == 1


def test_an_unknown_failure_ends_at_once_with_a_bundle(case: Case) -> None:
    case.fault("unknown")
    left = case.deploy("PLAYBOOK", "--json")
    assert left.code == 7, left.out + left.err
    (error,) = left.of("error")
    assert "LedgerTornError: page 4 of the ledger is torn" in error["error"]["message"]
    bundles = list((case.home / ".local/state/deploy/bundles").iterdir())
    assert len(bundles) == 1
    assert case.actions().count("launch") == 1


def test_the_same_failure_after_its_patch_takes_the_patch_back(case: Case, repositories: Path) -> None:
    case.fault("stubborn")
    left = case.deploy("PLAYBOOK", "--no-predict", "--json")
    assert left.code == 6, left.out + left.err
    assert case.actions().count("launch") == 2
    assert case.config() == original(repositories, "config.json")
    assert case.config("hf_quant_config.json") == original(repositories, "hf_quant_config.json")


def test_attempts_are_counted_across_runs(case: Case) -> None:
    case.fault("unknown")
    assert case.deploy("PLAYBOOK", "--max-attempts", "2").code == 7
    assert case.deploy("PLAYBOOK", "--max-attempts", "2").code == 7
    left = case.deploy("PLAYBOOK", "--max-attempts", "2")
    assert left.code == 8
    assert "LedgerTornError" in left.err
    assert case.actions().count("launch") == 2
    assert case.deploy("stop", "PLAYBOOK").code == 0
    assert case.deploy("PLAYBOOK", "--max-attempts", "2").code == 7


def test_an_engine_that_is_not_ready_in_time_is_left_alone_and_resumed(case: Case) -> None:
    case.fault("hang")
    left = case.deploy("PLAYBOOK", "--timeout", "3")
    assert left.code == 8, left.out + left.err
    assert json.loads(case.deploy("status", "PLAYBOOK", "--json").out)["members"]
    again = case.deploy("PLAYBOOK", "--timeout", "1")
    assert again.code == 8
    assert case.actions().count("launch") == 1


def test_health_alone_is_not_believed(case: Case) -> None:
    case.fault("first-request")
    left = case.deploy("PLAYBOOK", "--json")
    assert left.code == 6, left.out + left.err
    assert [record["result"] for record in case.journal() if record["action"] == "outcome"] == ["failed"]


def test_remediate_alone_repairs_what_a_run_left_and_never_downloads(case: Case) -> None:
    forbidden = case.deploy("PLAYBOOK", "--no-predict", "--no-patch", "fp8-kv-mla")
    assert forbidden.code == 6, forbidden.out + forbidden.err
    before = len(case.hub.requests)
    shown = case.deploy("diff", "PLAYBOOK", "--exit-code")
    assert shown.code == 10
    assert '-    "kv_cache_scheme": {' in shown.out
    assert '+        "kv_cache_quant_algo": null' in shown.out
    left = case.deploy("remediate", "PLAYBOOK", "--no-predict", "--json")
    assert left.code == 0, left.out + left.err
    assert len(case.hub.requests) == before
    assert [finding["patch"] for finding in left.of("finding")] == ["fp8-kv-mla"]


def test_a_patch_that_was_applied_after_the_failure_is_tried_before_it_is_judged(case: Case) -> None:
    assert case.deploy("PLAYBOOK", "--no-predict", "--no-patch", "fp8-kv-mla").code == 6
    patched = case.deploy("remediate", "PLAYBOOK", "--no-predict", "--no-launch", "--json")
    assert patched.code == 0, patched.out + patched.err
    assert case.actions().count("launch") == 1
    left = case.deploy("remediate", "PLAYBOOK", "--no-predict", "--json")
    assert left.code == 0, left.out + left.err
    assert "revert" not in case.actions()
    assert case.actions().count("launch") == 2


def test_restart_stops_nothing_that_it_could_not_start_again(case: Case) -> None:
    assert case.deploy("PLAYBOOK").code == 0
    shard = case.checkpoint / "model-00002-of-00006.safetensors"
    shard.write_bytes(shard.read_bytes()[:-10])
    left = case.deploy("restart", "PLAYBOOK")
    assert left.code == 5
    assert shard.name in left.err
    assert json.loads(case.deploy("status", "PLAYBOOK", "--json").out)["state"] == "healthy"
    asked = case.deploy("PLAYBOOK", "--set", f"port={free_port()}", "--json")
    assert asked.code == 0
    assert [result["changed"] for result in asked.of("result")] == [False]
    assert "--port is" in asked.of("warning")[0]["text"]


def test_a_broken_config_is_fetched_again_and_an_edited_one_stays(case: Case, repositories: Path) -> None:
    case.checkpoint.mkdir()
    (case.checkpoint / "config.json").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    edited = original(repositories, "generation_config.json") + b"\n\n"
    (case.checkpoint / "generation_config.json").write_bytes(edited)
    left = case.deploy("PLAYBOOK", "--json")
    assert left.code == 0, left.out + left.err
    assert json.loads(case.config())["model_type"] == "deepseek_v3"
    assert case.config("generation_config.json") == edited
    assert ["generation_config.json"] in [warning.get("kept") for warning in left.of("warning")]


def test_each_folder_is_reverted_with_its_own_bytes(case: Case, repositories: Path, tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for number, folder in enumerate(folders):
        shutil.copytree(repositories / REPOSITORY, folder)
        with (folder / "config.json").open("ab") as file:
            file.write(b"\n" * number)
        force = ("--no-launch", "--patch", "fp8-kv-mla", "--model-dir", str(folder))
        assert case.deploy("remediate", "PLAYBOOK", *force).code == 0
    assert case.deploy("revert", "PLAYBOOK", "--patch", "typo").code == 2
    assert case.deploy("revert", "PLAYBOOK").code == 0
    for number, folder in enumerate(folders):
        assert (folder / "config.json").read_bytes() == original(repositories, "config.json") + b"\n" * number


def test_a_missing_consent_leaves_before_anything_is_done(case: Case) -> None:
    case.content["arguments"] = {"trust-remote-code": True}
    case.write()
    left = case.deploy("PLAYBOOK")
    assert left.code == 4
    assert "trust-remote-code" in left.err
    assert not case.checkpoint.exists()
    assert not (case.state / "journal.jsonl").exists()


def test_a_taken_port_names_its_owner_who_stays(case: Case) -> None:
    with socket.create_server(("127.0.0.1", int(str(case.content["port"])))):
        left = case.deploy("PLAYBOOK")
        assert left.code == 4
        assert f"pid {os.getpid()}" in left.err
        assert "--set port=" in left.err


def test_two_deployers_one_works_and_the_other_is_told_who(case: Case) -> None:
    case.fault("hang")
    command, environment = case.deploy.argv("PLAYBOOK"), case.deploy.whole_environment
    with running(command, env=environment, stdout=subprocess.PIPE, text=True) as first:
        eventually((case.state / "launches/1/process.json").exists)
        second = case.deploy("PLAYBOOK")
        assert second.code == 9
        assert "bringing it up" in second.err
        assert f"deploy status {case.path}" in second.err
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=PATIENCE_SECONDS)
        assert first.returncode == 130
    assert json.loads(case.deploy("status", "PLAYBOOK", "--json").out)["members"]


def test_a_killed_run_is_resumed_without_a_second_launch(case: Case) -> None:
    case.content["ready_timeout"] = 30
    case.write()
    command, environment = case.deploy.argv("PLAYBOOK"), case.deploy.whole_environment
    with running(command, env=environment, stdout=subprocess.DEVNULL) as first:
        eventually((case.state / "launches/1/process.json").exists)
        first.kill()
    left = case.deploy("PLAYBOOK", "--json")
    assert left.code == 0, left.out + left.err
    assert case.actions().count("launch") == 1
