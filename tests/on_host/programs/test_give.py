"""A checkpoint from another host: what it gives, what it keeps to itself, and what a receiver believes of it."""

from __future__ import annotations

import errno
import hashlib
import http.client
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.checkpoint import hub_transfer
from orchestrator.on_host.checkpoint.file_under_way import FileUnderWay, Torn
from orchestrator.on_host.checkpoint.hub_files import RemoteFile
from orchestrator.on_host.checkpoint.offer import Offer
from orchestrator.on_host.checkpoint.peers import _Peer
from orchestrator.on_host.programs import give, verify
from tests.kv_edits import plan_edits
from tests.on_host.programs.download_site import LAST, Site, error_of
from tests.on_host.programs.giving import WORD, Source, breaking_off, made_source
from tests.waiting import eventually

HALF = "model-00003-of-00006.safetensors"


@pytest.fixture
def source(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    monkeypatch.setattr(hub_transfer, "LATER_SECONDS", 0.01)
    return made_source(site, tmp_path)


def receive(site: Site, source: Source, *peers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return site.run(listing=source.listing, peers=list(peers), **more)


def ask(peer: dict[str, Any], path: str, word: str = WORD, span: str = "") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(peer["address"], peer["port"], timeout=10)
    connection.putrequest("GET", path, skip_host=True)
    connection.putheader("Authorization", f"Bearer {word}")
    if span:
        connection.putheader("Range", span)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_a_checkpoint_comes_without_the_hub(site: Site, source: Source) -> None:
    with source.giving() as alpha:
        ended = receive(site, source, alpha)
    assert ended["state"] == "done", ended
    assert site.hub.requests == []
    assert site.files() == {
        path.name: path.read_bytes() for path in source.folder.iterdir() if path.is_file()
    }
    assert ended["last"]["given"] == {"alpha": sum(len(data) for data in site.files().values())}
    assert (ended["last"]["fetched"], ended["last"]["wrong"]) == (12, [])
    assert WORD not in (site.room / "progress.jsonl").read_text()
    assert WORD not in (site.room / "manifest.json").read_text()
    assert not list(site.folder.rglob("*.incomplete"))
    assert site.run()["last"]["fetched"] == 0  # the Hub's own client takes them for what it fetched itself
    assert verify.main({"folder": str(site.folder)})["whole"]


def test_what_is_given_and_to_whom(source: Source) -> None:
    (source.folder / "notes.txt").write_text("somebody's own")
    (source.folder / "original").mkdir()
    (source.folder / LAST).rename(source.folder / "original" / LAST)
    (source.folder / LAST).symlink_to(source.folder / "original" / LAST)
    source.note(files={**source.listing["files"], "../state/deploy/p/lock": {"size": 0}, "a/b": {"size": 1}})
    with source.giving() as alpha:
        data = (source.folder / HALF).read_bytes()
        assert ask(alpha, f"/{HALF}") == (200, data)
        assert ask(alpha, f"/{HALF}", span="bytes=100-") == (206, data[100:])
        assert ask(alpha, f"/{HALF}", span=f"bytes={len(data)}-") == (206, b"")
        assert ask(alpha, f"/{HALF}", word="another")[0] == 403
        for refused in ("/notes.txt", f"/{LAST}", "/../state/deploy/p/lock", "/%2e%2e/state/deploy/p/lock",
                        "/a/b", "/", "//etc/passwd", "/config.json%00"):  # fmt: skip
            assert ask(alpha, refused) == (404, b""), refused
        (source.folder / LAST).unlink()
        source.note(complete=False)
        assert ask(alpha, f"/{LAST}")[0] == 503  # it may still come
    with pytest.raises(ConnectionRefusedError):
        ask(alpha, f"/{HALF}")


def test_it_ends_once_nobody_has_asked_for_a_while(monkeypatch: pytest.MonkeyPatch, site: Site) -> None:
    monkeypatch.setattr(give, "IDLE_SECONDS", 0.0)
    request = {"instance": "p", "folder": str(site.folder), "address": "127.0.0.1", "word": WORD}
    with open(os.pipe()[0]) as silent:
        monkeypatch.setattr(sys, "stdin", silent)
        assert [sorted(answer) for answer in give.main(request)] == [["port"]]


def test_a_large_file_over_a_slow_link_is_no_idleness(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    with open(reading) as controller, open(writing, "wb"):
        monkeypatch.setattr(sys, "stdin", controller)
        monkeypatch.setattr(give, "IDLE_SECONDS", 0.0)
        monkeypatch.setattr(give, "_LOOK_SECONDS", 0.01)
        with give._FileServer("127.0.0.1", Offer(source.state / "deploy" / "p", "/"), WORD) as server:
            with server.counted():
                waiting = threading.Thread(target=give._until_nobody_wants_it, args=(server,))
                waiting.start()
                waiting.join(0.05)
                assert waiting.is_alive()
            waiting.join(30)
            assert not waiting.is_alive()


def test_of_a_patched_config_the_original_is_given(site: Site, source: Source) -> None:
    names = ("config.json", "hf_quant_config.json")
    original = {name: (source.folder / name).read_bytes() for name in names}
    backups = source.state / "deploy" / "p" / "backups"
    backups.mkdir()
    for name, data in plan_edits(original).after.items():
        (backups / hashlib.sha256(original[name]).hexdigest()).write_bytes(original[name])
        (source.folder / name).write_bytes(data)
    with source.giving() as alpha:
        assert receive(site, source, alpha)["state"] == "done"
    assert {name: site.files()[name] for name in names} == original
    assert site.hub.requests == []


def test_what_one_began_and_left_another_continues(site: Site, source: Source) -> None:
    with source.giving() as alpha, breaking_off(source) as beta:
        ended = receive(site, source, alpha, beta)
    assert ended["state"] == "done"
    given, total = ended["last"]["given"], sum(len(data) for data in site.files().values())
    assert given["alpha"] + given["beta"] == total and given["beta"] > 0
    assert site.hub.requests == []


def test_what_the_source_does_not_give_any_more_comes_from_the_hub(site: Site, source: Source) -> None:
    with breaking_off(source, "alpha") as alpha:
        ended = receive(site, source, alpha)
    assert (ended["state"], list(ended["last"]["given"])) == ("done", ["alpha"])
    assert (
        len(site.hub.fetched()) == 12
    )  # what came by halves is fetched whole: the Hub's client hashes nothing
    assert not list(site.folder.rglob("*.incomplete"))


def test_a_receiver_whose_disk_was_full_goes_on_where_it_was(site: Site, source: Source) -> None:
    with source.giving() as alpha:
        code, message = error_of(_with_a_full_disk(lambda: receive(site, source, alpha)))
        assert code == "disk_full" and "No space left" in message
        ended = receive(site, source, alpha)
    assert ended["state"] == "done", ended
    assert ended["last"]["given"]["alpha"] < sum(len(data) for data in site.files().values())
    assert site.hub.requests == []


def _with_a_full_disk(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What it answers in a process of its own, which ends with all that it has under way, where only some files find room."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        taken, pwrite = 0, os.pwrite

        def full(descriptor: int, data: Any, at: int) -> int:
            nonlocal taken
            if taken > 100_000:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            taken += len(data)
            return pwrite(descriptor, data, at)

        os.pwrite = full
        try:
            os.write(writing, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as answered:
        answer: dict[str, Any] = json.loads(answered.read())
    os.waitpid(child, 0)
    return answer


def test_a_byte_that_flipped_on_the_sources_disk_is_noticed(site: Site, source: Source) -> None:
    with (source.folder / LAST).open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        flipped = file.read(1)[0] ^ 1
        file.seek(-1, os.SEEK_END)
        file.write(bytes([flipped]))
    with source.giving() as alpha:
        ended = receive(site, source, alpha)
    assert ended["state"] == "done"
    assert ended["last"]["wrong"] == [{"file": LAST, "host": "alpha"}]
    assert site.hub.fetched() == [LAST]
    assert site.files()[LAST] == (site.repository / LAST).read_bytes()


def test_half_a_file_of_one_is_no_fault_of_another(site: Site, source: Source, tmp_path: Path) -> None:
    broken = Source(tmp_path / "broken", source.state)
    shutil.copytree(source.folder, broken.folder)
    (broken.folder / LAST).write_bytes(bytes((source.folder / LAST).stat().st_size))
    with source.giving() as alpha, breaking_off(broken) as beta:
        ended = receive(site, source, alpha, beta)
    assert (ended["state"], ended["last"]["wrong"]) == ("done", [])
    assert site.hub.requests == []


def test_what_the_source_still_fetches_is_waited_for(site: Site, source: Source) -> None:
    aside = source.folder.parent / LAST
    (source.folder / LAST).rename(aside)
    source.note(complete=False)
    ended: list[dict[str, Any]] = []
    with source.giving() as alpha:
        receiving = threading.Thread(target=lambda: ended.append(receive(site, source, alpha)))
        receiving.start()
        eventually(lambda: site.folder.exists() and len(site.files()) == 11)
        aside.rename(source.folder / LAST)
        receiving.join(30)
    assert ended[0]["state"] == "done"
    assert site.hub.requests == []


def test_with_neither_source_nor_hub_it_is_told_what_is_missing(
    site: Site, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    with source.giving() as alpha:
        pass
    code, message = error_of(receive(site, source, alpha, endpoint="http://127.0.0.1:9"))
    assert code == "hub_unreachable"
    assert "; alpha gives nothing any more: " in message


def test_hosts_begin_with_different_files(site: Site, source: Source) -> None:
    with source.giving() as alpha:
        assert receive(site, source, alpha, turn=[1, 2])["state"] == "done"


def test_one_file_comes_from_the_source_where_no_helper_has_it(
    site: Site, source: Source, tmp_path: Path
) -> None:
    beginner = Source(tmp_path / "beginner" / "tiny", tmp_path / "beginner" / "state")
    shutil.copytree(source.folder.parent, beginner.folder.parent)
    beginner.note(folder=str(beginner.folder), complete=False)
    (beginner.folder / LAST).unlink()
    shutil.copytree(beginner.folder, site.folder)
    with source.giving() as alpha, beginner.giving("beta") as beta:
        ended = receive(site, source, alpha, beta)["last"]
    assert (ended["fetched"], list(ended["given"])) == (1, ["alpha"])


def test_a_listing_that_leads_out_of_the_folder_is_refused(site: Site, source: Source) -> None:
    listing = {"commit": "c" * 40, "files": {"../x": {"size": 1, "sha256": None, "blob": "b" * 40}}}
    code, message = error_of(site.run(listing=listing, peers=[]))
    assert code == "download_failed" and "'../x'" in message


@pytest.mark.parametrize("entry", [{"sha256": "/../../x", "blob": None}, {"sha256": None, "blob": "B" * 40}])
def test_a_listing_whose_hash_is_none_is_refused(site: Site, entry: dict[str, Any]) -> None:
    listing = {"commit": "c" * 40, "files": {"config.json": {"size": 1, **entry}}}
    code, message = error_of(site.run(listing=listing, peers=[]))
    assert code == "download_failed" and "for a hash" in message


def test_a_file_that_is_taken_away_on_its_way_begins_anew(tmp_path: Path) -> None:
    data = b"0123456789"
    way = FileUnderWay(str(tmp_path), RemoteFile("a.bin", len(data), hashlib.sha256(data).hexdigest(), None))
    way.append(data[:4])
    shutil.rmtree(tmp_path / ".cache")
    with pytest.raises(Torn):
        way.append(data[4:])
    assert (way.at, way.right) == (0, False)
    way.append(data)
    assert way.right
    way.place("c" * 40)
    assert (tmp_path / "a.bin").read_bytes() == data


def test_one_silence_counts_once_however_many_requests_it_ends() -> None:
    peer = _Peer({"name": "alpha", "address": "127.0.0.1", "port": 1, "word": WORD})
    began = time.monotonic()
    for _ in range(4):
        peer.fails(began)
    assert peer.gives("a.bin")
    for _ in range(2):
        peer.fails(time.monotonic())
    assert not peer.gives("a.bin")
