"""What are the bytes of a log without its carrier, and where in the file did a line of them stand?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice

from orchestrator.diagnosis.carriers.layer import Numbered
from orchestrator.diagnosis.carriers.peel import LONGEST, Wrapping, numbered
from orchestrator.diagnosis.lines import cut

_BATCH = 512


class Peeled:
    """Give it a log whole, or piece by piece as it grows; then `line_of` tells of its lines which ones of the file they were."""

    def __init__(self, layers: Wrapping) -> None:
        self._layers = layers
        self._rest = b""
        self._raw = 0
        self._lines = 0
        self._since = [0]
        self._apart = [0]
        """What is added to a line's number from that line on."""

    def whole(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """All of a log."""
        if not self._layers.around:
            yield from chunks
            return
        lines = self._layers.peel(numbered(cut(chunks, LONGEST)))
        while batch := list(islice(lines, _BATCH)):
            yield self._bytes(batch)

    def feed(self, chunk: bytes) -> bytes:
        """The next bytes of a log that grows: of its whole lines, each piece by itself."""
        if not self._layers.around:
            return chunk
        whole, end, self._rest = (self._rest + chunk).rpartition(b"\n")
        raw_lines = whole.split(b"\n") if end else []
        since, self._raw = self._raw + 1, self._raw + len(raw_lines)
        return self._bytes(list(self._layers.peel(numbered(raw_lines, since))))

    def line_of(self, number: int) -> int:
        """The line of the file on which that line began (1-based both)."""
        return number + self._apart[bisect_right(self._since, number) - 1]

    def _bytes(self, lines: list[Numbered]) -> bytes:
        for raw, _ in lines:
            self._lines += 1
            if raw - self._lines != self._apart[-1]:
                self._since.append(self._lines)
                self._apart.append(raw - self._lines)
        return "".join(f"{text}\n" for _, text in lines).encode("utf-8", "replace")


def bare(beginning: bytes, layers: Wrapping) -> bytes:
    """The beginning of a log without its carrier."""
    return b"".join(Peeled(layers).whole([beginning]))
