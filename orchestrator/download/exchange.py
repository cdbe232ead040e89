"""How do hosts that want the same revision of a repository get it from each other?

The source gives what it has, and so does every host that gets it: what one has whole it gives on at once. So the link of none of
them is the limit. Where the source fetches from the Hub the others take each file as it arrives.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

from orchestrator.base.errors import DeployError
from orchestrator.download.same_folder import same_folder
from orchestrator.group.ways import CheckpointWay
from orchestrator.hosts.host import Host
from orchestrator.programs.ask import Answers, ask
from orchestrator.programs.download import Listing, Manifest, Peer
from orchestrator.programs.give import Give, Gives
from orchestrator.programs.inspect_checkpoint import InspectCheckpoint

ShowWait = Callable[[str], AbstractContextManager[object]]
"""Shows what is waited for."""
LOOK_SECONDS = 0.25
BEGIN_SECONDS = 600.0
"""How long a source may take to learn from the Hub what there is to be fetched; then the others ask for themselves."""


@dataclass(frozen=True)
class ExchangeHost:
    """A host, where the others reach it, and its checkpoint there."""

    host: Host
    instance: str
    address: str
    folder: str
    manifest: Manifest | None


@dataclass(frozen=True)
class Supply:
    """What a host is given: the commit's files, and who has them. `turn` of so many is with which of them it begins.
    `same_as` is a host that has fetched them already into what is this host's folder as well."""

    listing: Listing
    peers: tuple[Peer, ...] = ()
    turn: tuple[int, int] = (0, 1)
    same_as: str = ""


class CheckpointExchange:
    """Hosts of which some give a checkpoint to others. They give for as long as one of them receives."""

    def __init__(self, ways: Mapping[str, CheckpointWay], members: Mapping[str, ExchangeHost]) -> None:
        self._ways, self._members = ways, members
        self._known = {way.source: threading.Event() for way in ways.values()}
        self._done = {name: threading.Event() for name in members}
        self._turn = threading.Lock()
        self._first: dict[str, str] | None = None
        self._alone = threading.Lock()
        self._receiving: set[str] = set()
        self._peers: dict[str, Peer] = {}
        self._until_end = ExitStack()

    def way(self, host: str) -> CheckpointWay | None:
        """That of a host which lacks something; None where it asks the Hub for itself alone."""
        return self._ways.get(host)

    def known(self, host: str) -> None:
        """Say that it is known on this host which files there are to be fetched."""
        if host in self._known:
            self._known[host].set()

    def done(self, host: str) -> None:
        """Say that this host lacks nothing any more."""
        if host in self._done:
            self._done[host].set()

    @contextmanager
    def supply(self, host: str, proceed: Callable[[], None], wait: ShowWait) -> Iterator[Supply | None]:
        """What this host is given, for as long as it receives; None where it has to ask the Hub. Raises what `proceed` does.

        Of hosts that have the same folder one writes there, and the others wait for it.
        """
        way = self._ways[host]
        with wait(f"for {way.source} to say what there is of the checkpoint"):
            manifest = self._manifest(way, proceed)
            first = self._first_of(host, way)
        if manifest is None or manifest.commit is None:
            yield None
            self.done(host)
            return
        listing = Listing(commit=manifest.commit, files=manifest.files)
        if first == host:
            with self._given(host, way, listing) as supply:
                yield supply
            self.done(host)
            return
        with wait(f"for {first}, which fetches it into the same folder"):
            while not self._done[first].wait(LOOK_SECONDS):
                proceed()
        with self._alone:
            yield Supply(listing, same_as=first)

    @contextmanager
    def _given(self, host: str, way: CheckpointWay, listing: Listing) -> Iterator[Supply | None]:
        with self._turn:
            self._receiving.add(host)
            if not self._peers:
                self._open(way)
        try:
            source = self._peers.get(way.source)
            others = (self._peers[name] for name in way.receivers if name != host and name in self._peers)
            turn = (way.receivers.index(host), len(way.receivers))
            yield Supply(listing, (source, *others), turn) if source else None
        finally:
            with self._turn:
                self._receiving.discard(host)
                if not self._receiving:
                    self._until_end.close()
                    self._peers.clear()

    def _first_of(self, host: str, way: CheckpointWay) -> str:
        """The host that writes into this one's folder: the source, where it has the same one."""
        with self._turn:
            if self._first is None:
                hosts = {name: self._members[name] for name in (way.source, *way.receivers)}
                self._first = same_folder({name: (each.host, each.folder) for name, each in hosts.items()})
                if way.whole:
                    self._done[way.source].set()
        return self._first[host]

    def _manifest(self, way: CheckpointWay, proceed: Callable[[], None]) -> Manifest | None:
        """What the source has, or fetches; waits until that is known."""
        source = self._members[way.source]
        if way.whole:
            return source.manifest
        give_up = time.monotonic() + BEGIN_SECONDS
        while not self._known[way.source].wait(LOOK_SECONDS):
            proceed()
            if time.monotonic() > give_up:
                return None
        return ask(source.host, InspectCheckpoint(folder=source.folder, instance=source.instance)).manifest

    def _open(self, way: CheckpointWay) -> None:
        """Have all of them give, those that can."""
        streams: dict[str, tuple[Give, Answers[Gives]]] = {}
        for name in (way.source, *way.receivers):
            if self._first and self._first[name] != name:
                continue
            member = self._members[name]
            request = Give(
                instance=member.instance,
                folder=member.folder,
                address=member.address,
                word=secrets.token_hex(16),
            )
            try:
                stream = Answers(member.host, request)
            except DeployError:  # who has no way to give has none to fetch either, and says so
                continue
            self._until_end.callback(stream.close)
            streams[name] = request, stream
        for name, (request, stream) in streams.items():
            try:
                gives = next(stream.values(), None)
            except DeployError:
                continue
            if gives is not None:
                self._peers[name] = Peer(
                    name=name, address=request.address, port=gives.port, word=request.word
                )
