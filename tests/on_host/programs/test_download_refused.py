"""Downloads that are refused: tokens, a Hub that is not there or says no, folders and disks that will not do."""

from __future__ import annotations

import fcntl
import os
import socket
import sys
import threading
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

from tests.on_host.programs.download_site import LAST, SECRET, Site, error_of
from tests.waiting import PATIENCE_SECONDS


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
    assert code == "hub_token_withheld"
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
