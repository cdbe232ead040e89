"""The download program as it is shipped, against a Hub on this machine."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import threading
from typing import Any

import pytest

from orchestrator.on_host.checkpoint import hub_fetch
from orchestrator.on_host.programs import download, verify
from tests.kv_edits import plan_edits
from tests.on_host.programs.download_site import LAST, Site, answer, error_of
from tests.waiting import PATIENCE_SECONDS, eventually


def test_a_fresh_download_goes_on_by_itself(site: Site) -> None:
    started = site.call("start")
    assert started["state"] == "started"
    assert os.getsid(started["holder"]["pid"]) == started["holder"]["pid"]
    ended = site.finish()
    assert ended["state"] == "done"
    assert ended["last"]["commit"] == site.hub.commit("org/tiny")
    assert (ended["last"]["files"], ended["last"]["fetched"]) == (12, 12)
    assert {name: (site.repository / name).read_bytes() for name in site.files()} == site.files()
    assert verify.main({"folder": str(site.folder)})["whole"]
    manifest = json.loads((site.room / "manifest.json").read_text())
    assert (manifest["complete"], manifest["folder"], len(manifest["files"])) == (True, str(site.folder), 12)
    assert verify.main({"folder": str(site.folder), "files": manifest["files"]})["whole"]
    first, *_, before_last, last = site.progress()
    assert (first["bytes"], first["files_done"], first["files"]) == (0, 0, 12)
    assert before_last["bytes"] == before_last["total"] == last["bytes"]


def test_what_is_there_already_is_not_fetched(fetched: Site) -> None:
    ended = fetched.run()
    assert (ended["state"], ended["last"]["fetched"]) == ("done", 0)
    assert fetched.hub.fetched() == []
    assert not any(request.file for request in fetched.hub.requests)


def test_killed_after_some_shards_and_started_again(site: Site) -> None:
    site.hub.hold[LAST] = threading.Event()
    pid = site.call("start")["holder"]["pid"]
    assert site.hub.held.wait(PATIENCE_SECONDS)
    eventually(lambda: sum(line["files_done"] == 11 for line in site.progress()) >= 2)  # it goes on telling
    assert site.progress()[-1]["file"] == LAST
    assert site.call("start")["state"] == "running"
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: site.status()["state"] == "stopped")
    site.hub.hold.pop(LAST).set()
    site.hub.requests.clear()
    ended = site.call("run")
    assert (ended["state"], ended["last"]["fetched"]) == ("done", 1)
    assert site.hub.fetched() == [LAST]
    assert verify.main({"folder": str(site.folder)})["whole"]


def test_two_starts_at_once_are_one_download(site: Site) -> None:
    site.hub.hold[LAST] = threading.Event()
    both = [site.begin("start"), site.begin("start")]
    answers = [answer(process) for process in both]
    assert sorted(one["state"] for one in answers) == ["running", "started"]
    assert len({one["holder"]["pid"] for one in answers}) == 1
    site.hub.hold.pop(LAST).set()
    assert site.finish()["state"] == "done"
    assert len([r for r in site.hub.requests if r.method == "GET" and r.file == LAST and r.sent]) == 1


def test_a_patched_config_is_kept_and_a_changed_one_refreshed(fetched: Site) -> None:
    fetched.run()  # from here on it is known which commit the files are from
    names = ("config.json", "hf_quant_config.json")
    patched = plan_edits({name: (fetched.folder / name).read_bytes() for name in names}).after
    for name, data in patched.items():
        (fetched.folder / name).write_bytes(data)
    (fetched.repository / "generation_config.json").write_text('{"new": 1}')
    ended = fetched.call("run", keep=list(patched))
    assert (ended["state"], fetched.hub.fetched()) == ("done", ["generation_config.json"])
    assert {name: fetched.files()[name] for name in patched} == patched
    assert fetched.files()["generation_config.json"] == b'{"new": 1}'
    again = fetched.call("run")["last"]
    assert (again["fetched"], again["kept"]) == (0, sorted(patched))  # whoever edited them, they stay
    assert {name: fetched.files()[name] for name in patched} == patched


def test_somebodys_own_weights_are_never_replaced(fetched: Site) -> None:
    own = (fetched.folder / "model-00001-of-00006.safetensors").read_bytes()
    (fetched.folder / LAST).write_bytes(own)
    (fetched.folder / "tokenizer.json").unlink()
    code, message = error_of(fetched.call("run"))
    assert code == "foreign_files"
    assert LAST in message
    assert fetched.files()[LAST] == own
    assert fetched.hub.fetched() == []


def test_a_kept_file_that_is_gone_is_fetched(fetched: Site) -> None:
    (fetched.folder / "config.json").unlink()
    assert fetched.run(keep=["config.json"])["last"]["fetched"] == 1


def test_a_shard_of_the_right_size_but_unsound_is_fetched_again(fetched: Site) -> None:
    with (fetched.folder / LAST).open("r+b") as file:
        file.write(b"\0" * 64)
    assert fetched.run()["state"] == "done"
    assert fetched.hub.fetched() == [LAST]
    assert fetched.files()[LAST] == (fetched.repository / LAST).read_bytes()


def test_a_shard_of_the_same_size_from_another_commit_is_fetched_again(site: Site) -> None:
    assert site.run()["state"] == "done"
    data = bytearray((site.repository / LAST).read_bytes())
    data[-1] ^= 1
    (site.repository / LAST).write_bytes(data)
    site.hub.requests.clear()
    assert site.run()["state"] == "done"
    assert site.hub.fetched() == [LAST]
    assert site.files()[LAST] == data


def test_ignored_files_stay_away(site: Site) -> None:
    (site.repository / "original").mkdir()
    (site.repository / "original" / "consolidated.bin").write_bytes(b"x" * 100)
    assert site.run(ignore=["original/*", "*.safetensors"])["last"]["files"] == 6
    assert not (site.folder / "original").exists()


def test_a_cut_connection_and_a_failing_answer_are_survived(site: Site) -> None:
    site.hub.cut[LAST] = 1
    site.hub.fail["config.json"] = 1
    site.hub.fail[""] = 1
    assert site.run()["state"] == "done"
    assert verify.main({"folder": str(site.folder)})["whole"]


def test_status_before_any_download(site: Site) -> None:
    assert site.call("status")["state"] == "none"


def test_the_last_line_is_told_where_the_disk_has_no_room_for_more(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def full(descriptor: int, data: bytes) -> int:
        if os.fstat(descriptor).st_size:
            raise OSError(28, "No space left on device")
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    assert site.run()["state"] == "done"
    (only,) = site.progress()
    assert only["done"]


def test_a_download_that_ends_while_it_is_asked_about_is_done(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.room.mkdir(parents=True)
    half = {"bytes": 1, "total": 2, "files_done": 0, "files": 1, "rate": 0, "eta_seconds": None, "file": "a"}
    (site.room / "progress.jsonl").write_text(json.dumps(half) + "\n")
    flock = fcntl.flock

    def and_then_it_ended(file: Any, operation: int) -> None:
        flock(file, operation)
        with (site.room / "progress.jsonl").open("a") as progress:
            done = {"done": True, "commit": "c", "files": 1, "fetched": 1, "bytes": 2, "kept": []}
            progress.write(json.dumps(done) + "\n")

    monkeypatch.setattr(fcntl, "flock", and_then_it_ended)
    assert download.main({"action": "status", "instance": "p"})["state"] == "done"


def test_the_rate_of_the_last_download_that_took_its_time_is_kept(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rate() -> Any:
        return json.loads((site.room / "manifest.json").read_text())["rate"]

    assert site.run()["state"] == "done"
    assert rate() is None, "it was over too soon to tell"
    (site.folder / LAST).unlink()
    monkeypatch.setattr(hub_fetch, "TELLING_SECONDS", 0.0)
    assert site.run()["state"] == "done"
    told = rate()
    assert 0 < told < 1 << 40
    assert site.run()["last"]["fetched"] == 0
    assert rate() == told
