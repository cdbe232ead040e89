"""Which hosts get a checkpoint from which other ones, instead of the Hub? Pure: how it stands on each in, a way for each out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.programs.download import Manifest


@dataclass(frozen=True)
class Want:
    """What a host wants of the Hub, and whether it `lacks` something of it. `address`: where the others reach the host;
    `manifest`: what was last fetched there."""

    host: str
    address: str
    repository: str
    revision: str
    ignore: tuple[str, ...]
    lacks: bool
    manifest: Manifest | None

    @property
    def whole(self) -> bool:
        """Whether it has just that, as far as is known: each file is judged by its hash where it arrives."""
        there = self.manifest
        return (
            not self.lacks
            and there is not None
            and there.complete
            and there.commit is not None
            and there.repository == self.repository
            and self.revision in (there.revision, there.commit)
            and there.ignore == self.ignore
        )

    @property
    def _what(self) -> tuple[str, str, tuple[str, ...]]:
        return self.repository, self.revision, self.ignore

    def is_that_of(self, other: Want) -> bool:
        return self._what == other._what


@dataclass(frozen=True)
class CheckpointWay:
    """How a checkpoint gets onto a host: from the `source`, which is the host itself where it asks the Hub, for all. `whole`:
    the source has it already. `receivers` are all that get it from there."""

    host: str
    source: str
    address: str
    whole: bool
    receivers: tuple[str, ...]

    @property
    def receives(self) -> bool:
        return self.host != self.source

    @property
    def words(self) -> str:
        if not self.receives:
            return f"from the Hub, and on to {_named(self.receivers)}"
        return f"from {self.source} over {self.address}{'' if self.whole else ' as it comes there'}"


def ways(wants: Sequence[Want]) -> dict[str, CheckpointWay]:
    """By host, for those that lack something; one that is not among them asks the Hub for itself alone.

    Who has it whole is the source; else one fetches it for all.
    """
    by_host: dict[str, CheckpointWay] = {}
    for want in wants:
        alike = [other for other in wants if other.is_that_of(want)]
        lacking = [other for other in alike if other.lacks]
        source = next((other for other in alike if other.whole), lacking[0] if lacking else want)
        receivers = tuple(other.host for other in lacking if other is not source)
        if want.lacks and receivers:
            by_host[want.host] = CheckpointWay(
                want.host, source.host, source.address, source.whole, receivers
            )
    return by_host


def _named(hosts: Sequence[str]) -> str:
    return hosts[0] if len(hosts) == 1 else f"{len(hosts)} hosts"


def sources(given: Mapping[str, int]) -> str:
    """The hosts that gave something."""
    return _named(tuple(given))
