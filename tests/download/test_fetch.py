"""How a download is started, joined and followed: what the host is asked, and what is told meanwhile."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.base.errors import CheckpointError, Halted, HostError, Locked, PreflightRefused
from orchestrator.download import fetch
from orchestrator.download.exchange import Supply
from orchestrator.job import Job
from orchestrator.plan.wishes import Wishes
from orchestrator.programs import errand
from orchestrator.programs.download import Fetched, Listing, Peer
from orchestrator.survey.survey import Survey
from tests.jobs import KIMI, Answering, Told, job
from tests.surveys import NO_FILES, survey

DONE = {"done": True, "commit": "c" * 40, "files": 12, "fetched": 3, "bytes": 2_000_000_000}
HALF = {
    "bytes": 500_000_000,
    "total": 2_000_000_000,
    "files_done": 1,
    "files": 12,
    "rate": 1_000_000,
    "eta_seconds": 9,
}
OURS = {"repository": KIMI.model.repository, "revision": "main", "folder": NO_FILES.folder, "since": "09:12"}
BARE = survey(checkpoint=NO_FILES)


def standing(
    state: str, last: dict[str, Any] | None = None, holder: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {"state": state, "last": last, "holder": holder, "room": "/state/download"}


class Downloading(Answering):
    """A host whose download goes from one standing to the next, each time it is asked."""

    def __init__(self, *standings: dict[str, Any] | Exception) -> None:
        super().__init__()
        self._standings = list(standings)

    def script(self, module: str, request: Any, **options: Any) -> Any:
        super().script(module, request)
        self.options = options
        answer = self._standings.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errand.time, "sleep", lambda seconds: None)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.delenv("HF_ENDPOINT", raising=False)


def test_a_download_is_followed_to_its_end() -> None:
    host = Downloading(
        standing("started"), standing("running", HALF), standing("running", {}), standing("done", DONE)
    )
    told = Told()
    fetched = fetch.fetch(job(host, told), BARE)
    assert fetched == Fetched(done=True, commit="c" * 40, files=12, fetched=3, bytes=2_000_000_000)
    assert [request["action"] for _, request in host.asked] == ["start", "status", "status", "status"]
    (progress,) = [event for event in told.events if event.kind == "progress"]
    assert progress.text == "500 MB of 2.0 GB, 1/12 files, 1.0 MB/s"
    assert {
        "bytes": 500_000_000,
        "total": 2_000_000_000,
        "rate": 1_000_000,
        "eta": 9,
    }.items() <= progress.data.items()
    end = told.events[-1]
    assert (end.data["state"], end.text) == ("ok", "2.0 GB, 3 of 12 files fetched")
    assert {"commit": "c" * 40, "files": 12, "fetched": 3}.items() <= end.data.items()


def test_one_whose_group_has_failed_is_followed_no_longer_and_goes_on() -> None:
    def proceed() -> None:
        raise Halted

    host = Downloading(standing("started"))
    with pytest.raises(Halted):
        fetch.fetch(job(host), BARE, proceed)
    assert [request["action"] for _, request in host.asked] == ["start"]


def test_of_one_unit_it_is_written_once() -> None:
    told = Told()
    half = {**HALF, "total": 900_000_000}
    fetch.fetch(job(Downloading(standing("running", half, OURS), standing("done", DONE)), told), BARE)
    assert [event.text for event in told.events if event.kind == "progress"] == [
        "500 of 900 MB, 1/12 files, 1.0 MB/s"
    ]


def test_files_that_were_edited_there_are_told_and_stay() -> None:
    told = Told()
    fetch.fetch(job(Downloading(standing("done", {**DONE, "kept": ["a.json", "b.json"]})), told), BARE)
    (warning,) = [event for event in told.events if event.kind == "warning"]
    assert warning.text == "a.json, b.json differ from the repository's: they were edited there and stay"
    assert warning.data["kept"] == ["a.json", "b.json"]


def start(the_job: Job, found: Survey = BARE) -> dict[str, Any]:
    """What the host is asked to download."""
    host = the_job.host
    assert isinstance(host, Downloading)
    fetch.fetch(the_job, found)
    return host.asked[0][1]


def done() -> Downloading:
    return Downloading(standing("done", DONE))


def test_what_is_asked_for_is_the_playbooks() -> None:
    host = done()
    asked = start(job(host))
    assert asked == {
        "action": "start",
        "instance": "kimi-k2.5",
        "repository": KIMI.model.repository,
        "revision": "main",
        "folder": NO_FILES.folder,
        "ignore": [*KIMI.checkpoint.ignore],
        "endpoint": None,
        "token": None,
        "token_consent": False,
        "foreign_folder": False,
        "keep": [],
        "listing": None,
        "peers": [],
        "turn": [0, 1],
    }
    assert host.options == {
        "deadline": 60.0,
        "private": False,
        "installed_beside": "/home/ml/ml-env/bin/python3",
    }


def test_what_other_hosts_give_is_asked_for_and_told() -> None:
    given = {"alpha": 1_500_000_000}
    wrong = [{"file": "a.safetensors", "host": "alpha"}]
    host = Downloading(standing("started"), standing("done", {**DONE, "given": given, "wrong": wrong}))
    told, known = Told(), list[str]()
    peer = Peer(name="alpha", address="10.0.0.1", port=4711, word="hushed")
    supply = Supply(Listing(commit="c" * 40, files={}), (peer,), (1, 2))
    mine = replace(job(host, told), command=lambda verb: f"deploy {verb} kimi-k2.5")
    fetch.fetch(mine, BARE, supply=supply, known=lambda: known.append("known"))
    (_, asked), *_ = host.asked
    assert asked["listing"] == {"commit": "c" * 40, "files": {}}
    assert (asked["turn"], [peer["word"] for peer in asked["peers"]]) == ([1, 2], ["hushed"])
    assert known == ["known"]
    warning, end = told.events[-2:]
    assert warning.text.startswith("a.safetensors of alpha is not the repository's by its hash")
    assert warning.text.endswith("(deploy verify kimi-k2.5 --deep)")
    assert end.text == "2.0 GB, 3 of 12 files fetched, 1.5 GB from alpha"
    assert end.data["given"] == given


@pytest.mark.parametrize("given", ["playbook", "environment", "login"])
def test_a_token_and_a_mirror_are_the_playbooks_or_this_persons_own(
    given: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    the_job, host = job(done()), None
    if given == "playbook":
        playbook = KIMI.with_overrides(env=["HF_TOKEN=hushed", "HF_ENDPOINT=https://mirror"])
        the_job = replace(the_job, playbook=playbook)
        monkeypatch.setenv("HF_TOKEN", "another")
        monkeypatch.setenv("HF_ENDPOINT", "https://another")
    else:
        monkeypatch.setenv("HF_ENDPOINT", "https://mirror")
    if given == "environment":
        monkeypatch.setenv("HF_TOKEN", "hushed")
    elif given == "login":
        (tmp_path / "token").write_text("hushed\n")
        monkeypatch.setenv("HF_HOME", str(tmp_path))
    asked = start(the_job)
    assert (asked["token"], asked["endpoint"]) == ("hushed", "https://mirror")
    host = the_job.host
    assert isinstance(host, Downloading)
    assert host.options["private"], "a token goes on a channel of its own"


def test_consents_and_files_of_ours_go_with_it() -> None:
    wishes = Wishes(consents=("foreign-folder", "token-to-endpoint"))
    asked = start(job(done(), wishes=wishes))
    assert (asked["foreign_folder"], asked["token_consent"]) == (True, True)


@pytest.mark.parametrize("key", ["repository", "revision", "folder"])
def test_a_download_of_something_else_is_not_joined(key: str) -> None:
    other = {**OURS, key: "other"}
    with pytest.raises(Locked) as caught:
        fetch.fetch(job(Downloading(standing("running", None, other))), BARE)
    what = f"{other['repository']} at {other['revision']} into {other['folder']}"
    assert caught.value.code == "other_download"
    assert caught.value.message == f"gpu7: a download of {what} is under way for kimi-k2.5, since 09:12"


@pytest.mark.parametrize("state", ["failed", "stopped", "none", "done"])
def test_a_download_that_ended_without_a_word_says_where_to_look(state: str) -> None:
    with pytest.raises(CheckpointError, match="ended without a word; see /state/download") as caught:
        fetch.fetch(job(Downloading(standing("started"), standing(state, HALF))), BARE)
    assert caught.value.code == "download_failed"


def test_a_failure_of_the_hub_or_the_disk_is_told_with_what_to_type() -> None:
    error = {"error": {"code": "hub_gated", "message": "no access"}}
    with pytest.raises(CheckpointError) as caught:
        fetch.fetch(job(Downloading(standing("started"), standing("failed", error))), BARE)
    assert (caught.value.code, caught.value.message) == ("hub_gated", "no access")
    granted = f"with access granted at https://huggingface.co/{KIMI.model.repository}"
    assert caught.value.next_command == f"hf auth login  # on gpu7, {granted}"


def test_a_refusal_to_start_is_one_of_the_download_and_any_other_error_stays_as_it_is() -> None:
    with pytest.raises(PreflightRefused) as refused:
        fetch.fetch(job(Downloading(HostError("foreign_files", "they are not ours"))), BARE)
    assert refused.value.message == "they are not ours"
    lost = HostError("connection_lost", "gone")
    with pytest.raises(HostError) as caught:
        fetch.fetch(job(Downloading(lost)), BARE)
    assert caught.value is lost
