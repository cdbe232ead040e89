"""The download program as it is shipped, against a Hub on this machine."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest

from orchestrator.hosts import ship
from orchestrator.on_host.checkpoint import hub_attempts
from orchestrator.on_host.programs import download, verify
from tests import tiny_mla
from tests.hub import Hub
from tests.kv_edits import plan_edits
from tests.waiting import PATIENCE_SECONDS, eventually

LAST = "model-00006-of-00006.safetensors"
SECRET = "hf_callersSecret"


class Site:
    """A host's home, a checkpoint folder in it, and the Hub it downloads from."""

    def __init__(self, tmp_path: Path, hub: Hub) -> None:
        self.hub = hub
        self.repository = hub.repositories / "org" / "tiny"
        self.folder = tmp_path / "models" / "tiny"
        self.room = tmp_path / "state" / "deploy" / "p" / "download"

    def request(self, action: str, **more: Any) -> dict[str, Any]:
        return {
            "action": action, "instance": "p", "repository": "org/tiny", "revision": "main",
            "folder": str(self.folder), "ignore": [], "endpoint": None, "token": None,
            "token_consent": False, "keep": [], **more,
        }  # fmt: skip

    def begin(self, action: str, *, site_packages: bool = True, **more: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            ship.interpreter(sys.executable, site_packages=site_packages),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(ship.bundle("download", self.request(action, **more), deadline=60))
        process.stdin.flush()
        return process

    def call(self, action: str, **more: Any) -> dict[str, Any]:
        """The program as shipped, in a process of its own."""
        return answer(self.begin(action, **more))

    def run(self, **more: Any) -> dict[str, Any]:
        """The download itself, carried out in this process."""
        return download.main(self.request("run", **{"endpoint": self.hub.endpoint, **more}))

    def progress(self) -> list[dict[str, Any]]:
        text = (self.room / "progress.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def finish(self) -> dict[str, Any]:
        """Wait for the detached download to end."""
        eventually(lambda: self.status()["state"] != "running")
        return self.status()

    def status(self) -> dict[str, Any]:
        return download.main(self.request("status"))

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}


def answer(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    lines = [json.loads(line) for line in out.splitlines()]
    assert len(lines) == 1 and "value" in lines[0], (out, err)
    return lines[0]["value"]


def error_of(answered: dict[str, Any]) -> tuple[str, str]:
    assert answered["state"] == "failed", answered
    return answered["last"]["error"]["code"], answered["last"]["error"]["message"]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_mla.make(tmp_path_factory.mktemp("original") / "tiny")


@pytest.fixture
def site(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for name in [name for name in os.environ if name.startswith(("HF_", "HUGGING"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "hf" / "token"))
    monkeypatch.setattr(hub_attempts, "FIRST_WAIT_SECONDS", 0.01)
    shutil.copytree(original, tmp_path / "repositories" / "org" / "tiny")
    with Hub(tmp_path / "repositories") as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        yield Site(tmp_path, hub)


@pytest.fixture
def fetched(site: Site) -> Site:
    """A site whose folder holds the checkpoint as huggingface_hub would have left it, long ago."""
    shutil.copytree(site.repository, site.folder)
    return site


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


def test_gated_without_a_token(site: Site) -> None:
    site.hub.gated, site.hub.token = True, SECRET
    code, message = error_of(site.run())
    assert (code, site.hub.fetched()) == ("hub_gated", [])
    assert "org/tiny" in message


def test_a_token_is_not_sent_over_plain_http_without_consent(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.hub.gated, site.hub.token = True, SECRET
    monkeypatch.setenv("HF_TOKEN", "hf_hostsOwn")
    code, message = error_of(site.run(token=SECRET))
    assert code == "hub_gated"
    assert f"a token is at hand but is not sent to {site.hub.endpoint} without consent" in message
    assert {request.authorization for request in site.hub.requests} == {None}


def test_with_consent_the_hosts_token_comes_first_then_the_callers(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.hub.token = SECRET
    monkeypatch.setenv("HF_TOKEN", "hf_hostsOwn")
    assert site.run(token=SECRET, token_consent=True)["state"] == "done"
    listings = [r.authorization for r in site.hub.requests if "/revision/" in r.path]
    assert listings == ["Bearer hf_hostsOwn", f"Bearer {SECRET}"]
    elsewhere = {r.authorization for r in site.hub.requests if r.path.startswith("/large/")}
    assert elsewhere == {None}


def test_a_refused_token_is_told_as_such(site: Site) -> None:
    site.hub.token = "another"
    code, _ = error_of(site.run(token=SECRET, token_consent=True))
    assert code == "hub_auth"


def test_the_token_is_nowhere_to_be_found(site: Site, tmp_path: Path) -> None:
    site.hub.gated, site.hub.token = True, SECRET
    site.hub.hold[LAST] = threading.Event()
    pid = site.call("start", token=SECRET, token_consent=True)["holder"]["pid"]
    assert site.hub.held.wait(PATIENCE_SECONDS)
    for view in ("cmdline", "environ"):
        assert SECRET.encode() not in Path(f"/proc/{pid}/{view}").read_bytes()
    site.hub.hold.pop(LAST).set()
    assert site.finish()["state"] == "done"
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 20
    assert [path for path in written if SECRET.encode() in path.read_bytes()] == []


@pytest.mark.parametrize("wrong", [{"repository": "org/none"}, {"revision": "v9"}])
def test_what_is_not_there_is_not_found(site: Site, wrong: dict[str, str]) -> None:
    code, message = error_of(site.run(**wrong))
    assert code == "hub_not_found"
    assert next(iter(wrong.values())) in message


def test_an_unreachable_hub(site: Site) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        code, message = error_of(site.run(endpoint=endpoint))
    assert (code, endpoint in message) == ("hub_unreachable", True)


def test_without_huggingface_hub(site: Site) -> None:
    code, message = error_of(site.call("run", site_packages=False))
    assert (code, sys.executable in message) == ("hub_missing", True)


def test_another_writer_in_the_folder(fetched: Site) -> None:
    descriptor = os.open(fetched.folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        code, _ = error_of(fetched.run())
    finally:
        os.close(descriptor)
    assert (code, fetched.hub.requests) == ("checkpoint_busy", [])


def test_status_before_any_download(site: Site) -> None:
    assert site.call("status")["state"] == "none"


def test_a_full_disk_is_told_before_the_first_byte(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = namedtuple("disk", "f_bavail f_frsize")
    monkeypatch.setattr(os, "statvfs", lambda _: disk(2, 4096))
    answered = site.run()
    code, message = error_of(answered)
    total = sum(path.stat().st_size for path in site.repository.iterdir())
    assert (code, site.hub.fetched()) == ("disk_full", [])
    assert f"{total} bytes are still to be fetched, 8192 bytes are free" in message


def test_a_folder_that_may_not_be_made(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "makedirs", refuse)
    code, message = error_of(site.run())
    assert (code, str(site.folder) in message) == ("permission", True)


def test_a_folder_of_another_user_needs_consent(fetched: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
    code, _ = error_of(fetched.run())
    assert (code, fetched.hub.requests) == ("foreign_folder", [])
    assert fetched.run(foreign_folder=True)["state"] == "done"


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
