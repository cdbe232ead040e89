"""Hosts that give each other a checkpoint: who is asked, when it is known what there is, and that nothing stays open."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path

import pytest

from orchestrator.base.errors import Halted, HostError
from orchestrator.download.exchange import CheckpointExchange, ExchangeHost, Supply
from orchestrator.group.ways import Want, ways
from orchestrator.hosts.local import LocalHost
from orchestrator.on_host.state import state
from orchestrator.programs.download import Manifest
from tests.waiting import eventually

KNOWN = {"size": 3, "sha256": None, "blob": "b" * 40}
NOTED = {
    "repository": "org/tiny", "revision": "main", "ignore": [], "commit": "c" * 40, "files": {"a": KNOWN}
}  # fmt: skip
NAMES = ("alpha", "beta", "gamma")


def quietly(_: str) -> AbstractContextManager[None]:
    return nullcontext()


class Mute(LocalHost):
    """Starts no program."""

    def stream_script(self, module: str, request: object) -> object:
        raise HostError("unreachable", "no way there")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def hosts() -> Iterator[dict[str, LocalHost]]:
    with ExitStack() as until_end:
        yield {name: until_end.enter_context(LocalHost()) for name in NAMES}


def note(home: Path, name: str) -> None:
    """What the download on a host knows once it has asked the Hub."""
    room = home / "state" / "deploy" / name / "download"
    room.mkdir(parents=True)
    folder = home / name
    folder.mkdir(exist_ok=True)
    own = {"folder": str(folder), "machine": state.machine_id(), "complete": False}
    (room / "manifest.json").write_text(json.dumps({**NOTED, **own}))
    for made in (room, room.parent, room.parent.parent, home / "state"):
        made.chmod(0o700)


def exchange(home: Path, *, whole: bool, hosts: dict[str, LocalHost]) -> CheckpointExchange:
    manifest = Manifest.model_validate({**NOTED, "complete": True})
    wants, members = [], {}
    for name in NAMES:
        there = manifest if whole and name == "alpha" else None
        wants.append(Want(name, "127.0.0.1", "org/tiny", "main", (), there is None, there))
        members[name] = ExchangeHost(hosts[name], name, "127.0.0.1", str(home / name), there)
    return CheckpointExchange(ways(wants), members)


def answers(port: int) -> bool:
    with socket.socket() as dialled:
        return dialled.connect_ex(("127.0.0.1", port)) == 0


def test_all_that_get_it_give_it_on_until_the_last_has_it(home: Path, hosts: dict[str, LocalHost]) -> None:
    between = exchange(home, whole=True, hosts=hosts)
    with between.supply("beta", lambda: None, quietly) as beta:
        assert beta is not None
        with between.supply("gamma", lambda: None, quietly) as gamma:
            assert gamma is not None
            assert [peer.name for peer in beta.peers] == ["alpha", "gamma"]
            assert [peer.name for peer in gamma.peers] == ["alpha", "beta"]
            assert (beta.turn, gamma.turn) == ((0, 2), (1, 2))
            assert (beta.listing.commit, list(beta.listing.files)) == ("c" * 40, ["a"])
            assert len({peer.word for peer in (*beta.peers, *gamma.peers)}) == 3
            assert not any(peer.word in repr(beta) for peer in beta.peers)
        assert all(answers(peer.port) for peer in beta.peers)
    assert not any(answers(peer.port) for peer in beta.peers)


def test_what_the_source_fetches_is_known_once_it_says_so(home: Path, hosts: dict[str, LocalHost]) -> None:
    between = exchange(home, whole=False, hosts=hosts)
    given: list[Supply | None] = []

    def receive() -> None:
        with between.supply("beta", lambda: None, quietly) as supply:
            given.append(supply)

    receiving = threading.Thread(target=receive)
    receiving.start()
    note(home, "alpha")
    assert not given
    between.known("gamma")  # which gives nothing to anybody yet
    between.known("alpha")
    receiving.join(30)
    assert given[0] is not None and given[0].listing.commit == "c" * 40


def test_nobody_waits_for_a_source_whose_group_goes_on_no_further(
    home: Path, hosts: dict[str, LocalHost]
) -> None:
    def proceed() -> None:
        raise Halted

    with pytest.raises(Halted), exchange(home, whole=False, hosts=hosts).supply("beta", proceed, quietly):
        pass


def test_where_the_source_gives_nothing_the_hub_is_asked(home: Path, hosts: dict[str, LocalHost]) -> None:
    mute = exchange(home, whole=True, hosts={**hosts, "alpha": Mute()})
    with mute.supply("beta", lambda: None, quietly) as supply:
        assert supply is None


def test_who_gives_nothing_on_keeps_nobody_from_the_rest(home: Path, hosts: dict[str, LocalHost]) -> None:
    with exchange(home, whole=True, hosts={**hosts, "gamma": Mute()}).supply(
        "beta", lambda: None, quietly
    ) as supply:
        assert supply is not None and [peer.name for peer in supply.peers] == ["alpha"]


def test_of_hosts_with_one_folder_one_writes_and_the_others_wait(
    home: Path, hosts: dict[str, LocalHost]
) -> None:
    (home / "beta").mkdir()
    (home / "gamma").symlink_to(home / "beta")
    between = exchange(home, whole=True, hosts=hosts)
    waits: list[str] = []
    fetching, given = threading.Event(), list[Supply | None]()

    def follow() -> None:
        fetching.wait(30)

        def wait(what: str) -> AbstractContextManager[None]:
            waits.append(what)
            return nullcontext()

        with between.supply("gamma", lambda: None, wait) as supply:
            given.append(supply)

    following = threading.Thread(target=follow)
    following.start()
    with between.supply("beta", lambda: None, quietly) as supply:
        assert supply is not None and [peer.name for peer in supply.peers] == ["alpha"]
        fetching.set()
        eventually(lambda: waits[1:] == ["for beta, which fetches it into the same folder"])
        assert not given
    following.join(30)
    assert given == [Supply(supply.listing, same_as="beta")]
    assert list((home / "beta").iterdir()) == []


def test_who_asked_the_hub_keeps_nobody_waiting(
    home: Path, hosts: dict[str, LocalHost], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.download.exchange.BEGIN_SECONDS", 0.0)
    (home / "beta").mkdir()
    (home / "gamma").symlink_to(home / "beta")
    between = exchange(home, whole=False, hosts=hosts)
    with between.supply("beta", lambda: None, quietly) as supply:  # the source has not said anything yet
        assert supply is None
    note(home, "alpha")
    between.known("alpha")
    with between.supply("gamma", lambda: None, quietly) as supply:
        assert supply is not None and supply.same_as == "beta"
