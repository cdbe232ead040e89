"""How is a log of gigabytes read as if every line had been looked at?

Most lines of a log change nothing, whatever surrounds them. A block is searched for the words that a line must have to
change anything; such a line is asked for the expressions that need its words, and where one may fit, it is read, with those just above it (a traceback's heading) and those that follow while a
traceback is open. The rest is counted and passed over. The outcome is that of reading every line.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import replace

from orchestrator.diagnosis import incidents, stacks, startup
from orchestrator.diagnosis.following import Following
from orchestrator.diagnosis.gate import Hit, gate_of
from orchestrator.diagnosis.launches import LaunchLog
from orchestrator.diagnosis.lines import LONGEST, parse, parse_all, without_colours, without_colours_in_json
from orchestrator.diagnosis.remarks import Watched
from orchestrator.diagnosis.repeats import Repeats
from orchestrator.diagnosis.search import Search
from orchestrator.diagnosis.standstill import TAIL_LINES
from orchestrator.diagnosis.startup import Phase
from orchestrator.engines.log_grammar import LogGrammar

BLOCK = 256 << 10
"""Bytes that are searched at a time: few enough to stay in a processor's cache."""
_TAIL = 128 << 10
"""Bytes at the end of a log in which its last lines are looked for."""
_WRAPPED = (b'{"log":"', b'"message":', b'"msg":')
"""Signs of a log whose lines are JSON objects."""
_QUOTED = (b'"', b'":')
"""None of them is without these, most logs are, and the first is looked for at once."""
_SPELT = (b"\\u", b"\\/")
"""What such a line has where words in it may be spelt otherwise: it is read whatever it says."""
_COLOUR_IN_JSON = b"\\u001b["
_ANY = -1
"""Stands for such a place among the words that were found."""
ABOVE = incidents.HEADING_LINES + 4
"""Lines above a telling one that are read with it."""


class Scanner:
    """Feed it a log's bytes as they come; `following` knows at every moment what the lines so far came to.

    The last few lines are held back until more follow, or until `close`.
    """

    def __init__(self, grammar: LogGrammar, watched: Watched) -> None:
        self._grammar = grammar
        self.following = Following(grammar, watched)
        self.completed = False
        """Whether an incident was completed since somebody last set it to False."""
        self._phase = self.following.launch, self.following.startup.phase.name
        telling = _telling(grammar)
        self._telling = frozenset(telling)
        self._details = frozenset(grammar.start.details)
        self._milestones = grammar.start.milestones.pattern
        self._gate = gate_of((*telling, *watched.patterns))
        self._search = Search(self._gate, self._adds_nothing)
        self._repeats = Repeats()
        self._held = b""
        self._searched = 0
        self._number = 0
        self._tail = b""
        self._hits: list[Hit] | None = None
        """Which words were found in the block that is being read; None where it was not searched."""
        self._asked: tuple[int, list[str] | None] = (-1, None)
        """Of which line in the block it was asked last what it may fit, and the answer."""
        self._overlong = False
        self._wrapped = False
        self._phases: list[Phase] = []

    def feed(self, chunk: bytes) -> list[Phase]:
        """Take bytes in; gives the phases that the launch went through with them, the present one last."""
        for start in range(0, len(chunk), BLOCK):
            self._take(chunk[start : start + BLOCK])
        passed, self._phases = self._phases or [self.following.startup.phase], []
        return passed

    def catch_up(self) -> None:
        """Read the lines that were held back; one without its end waits on."""
        end = self._held.rfind(b"\n") + 1
        block, self._held, self._searched = self._held, self._held[end:], 0
        self._hits = None
        self._read(block, 0, end)
        whole = self._tail.partition(b"\n")[2] if len(self._tail) == _TAIL else self._tail
        raw = whole.rpartition(b"\n")[0].split(b"\n")[-TAIL_LINES:]
        last = self._number - len(raw) + 1
        lines = (
            line for number, each in enumerate(raw, last) for line in parse_all(each, number, self._grammar)
        )
        tail = self.following.tail
        while tail and tail[-1].number >= last:  # a line that is there twice would pass for a heartbeat
            tail.pop()
        tail.extend(lines)

    def close(self) -> None:
        """There is no more: read what was held back, a line without its end too."""
        if self._held and not self._held.endswith(b"\n"):
            self._held += b"\n"
            self._tail += b"\n"
        self.catch_up()

    def _take(self, chunk: bytes) -> None:
        if b"\0" in chunk:  # a truncated log has gigabytes of them
            chunk = chunk.replace(b"\0", b"")
        if self._overlong:
            end = chunk.find(b"\n")
            if end < 0:
                return
            chunk, self._overlong = chunk[end:], False
        self._tail = chunk[-_TAIL:] if len(chunk) >= _TAIL else (self._tail + chunk)[-_TAIL:]
        block = self._held + chunk
        if b"\x1b" in chunk:
            block, self._searched = without_colours(block), 0
        if (
            not self._wrapped
            and all(sign in chunk for sign in _QUOTED)
            and any(map(chunk.__contains__, _WRAPPED))
        ):
            self._wrapped, self._searched = True, 0
        if self._wrapped and _COLOUR_IN_JSON in chunk:
            block, self._searched = without_colours_in_json(block), 0
        end = block.rfind(b"\n") + 1
        left = self._pass(block, end, self._found(block, self._searched)) if end else 0
        if len(block) - end > LONGEST:  # of a line without an end no more is kept than counts
            block, self._overlong = block[: end + LONGEST], True
        self._held, self._searched = block[left:], end - left

    def _found(self, block: bytes, start: int) -> list[Hit]:
        hits = self._search.hits(block, start)
        if left_out := self._search.left_out:
            alone = not hits and self.following.settled(self._number + 1)
            if not (alone and self._repeats.takes_all(left_out, block, start, block.rfind(b"\n") + 1)):
                hits = sorted(
                    hits + [at for word in left_out for at in self._gate.places(word, block, start)]
                )
        if not self._wrapped:
            return hits
        signs = _SPELT if self._gate.plain else (b"\\",)
        spelt = [(at, _ANY) for sign in signs for at in _places(block, sign, start)]
        return sorted([*hits, *spelt]) if spelt else hits

    def _pass(self, block: bytes, end: int, hits: list[Hit]) -> int:
        """Read what may tell something, pass over the rest; gives how far it came, the last lines excepted."""
        self._hits, self._asked = hits, (-1, None)
        position = self._read_on(block, 0, end)
        hits, at = self._of_phase(block, position, hits), 0
        while at < len(hits) and hits[at][0] < end:
            hit, word = hits[at]
            asked, at = block.find(b"\n", hit) + 1, at + 1
            words: tuple[int, ...] = (word,)
            while at < len(hits) and hits[at][0] < asked:
                words, at = (*words, hits[at][1]), at + 1
            first = block.rfind(b"\n", 0, hit) + 1
            if hit < position:
                continue
            if self._repeats.takes(words, block, first, hit, asked):
                self._search.only_counted(words)
                continue
            if not self._tells(block, first, asked):
                self._search.told_nothing(words)
                continue
            if self._is_known(block, first, asked):
                continue
            start = _lines_above(block, first, ABOVE, position)
            self._skip(block, position, start)
            position = self._read(block, start, asked)
            if b"%" in block[first:asked] and self._only_counts(words):
                self._repeats.learn(words, block[first:hit])
            position = self._read_on(block, position, end)
            anew = self._of_phase(block, position, hits)
            hits, at = anew, 0 if anew is not hits else at
        start = _lines_above(block, end, ABOVE, position)
        self._skip(block, position, start)
        return start

    def _of_phase(self, block: bytes, position: int, hits: list[Hit]) -> list[Hit]:
        """The words from `position` on, looked for again where another launch or phase has begun, in which nothing was seen
        yet."""
        phase = self.following.launch, self.following.startup.phase.name
        if phase == self._phase:
            return hits
        self._phase = phase
        self._repeats.forget()
        if self._search.widen():
            self._hits = hits = self._found(block, position)
        return hits

    def _tells(self, block: bytes, start: int, end: int) -> bool:
        """Whether the line there may change anything: more of what was seen often enough does not."""
        fitting = self._fitting(block, start, end)
        return fitting is None or not all(map(self._adds_nothing, fitting))

    def _is_known(self, block: bytes, start: int, end: int) -> bool:
        """Whether such a line tells a detail of the launch, and no other than before."""
        fitting = self._fitting(block, start, end)
        if fitting is None or not all(each in self._details or self._adds_nothing(each) for each in fitting):
            return False
        return self.following.startup.knows(
            block[start : min(end, start + LONGEST)].decode("utf-8", "replace")
        )

    def _adds_nothing(self, pattern: str) -> bool:
        return pattern not in self._telling and self.following.adds_nothing(pattern)

    def _only_counts(self, words: tuple[int, ...]) -> bool:
        """Whether the line that was just read, and others with these words, can change no more than how far a phase has come."""
        phase = self.following.startup.phase
        if phase.line != self._number or phase.name not in self._grammar.start.counted or _ANY in words:
            return False
        patterns = (pattern for word in words for pattern in self._gate.needing(word))
        return all(pattern == self._milestones or self._adds_nothing(pattern) for pattern in patterns)

    def _fitting(self, block: bytes, start: int, end: int) -> list[str] | None:
        """The expressions that the line there may fit, None where only its message can tell."""
        if self._hits is None:
            return None
        if self._asked[0] == start:  # the line that is asked first is read next
            return self._asked[1]
        first, last = bisect_left(self._hits, (start, 0)), bisect_left(self._hits, (end, 0))
        words = [word for _, word in self._hits[first:last]]
        if not words:
            return []
        line = block[start : min(end, start + LONGEST)]
        self._asked = start, None if _ANY in words else self._gate.fitting(line, words)
        return self._asked[1]

    def _read_on(self, block: bytes, position: int, end: int) -> int:
        """Read while a traceback is open."""
        while position < end and not self.following.settled(self._number + 1):
            position = self._read(block, position, block.find(b"\n", position) + 1)
        return position

    def _read(self, block: bytes, start: int, end: int) -> int:
        while start < end:
            line_end = block.find(b"\n", start)
            self._number += 1
            fitting = self._fitting(block, start, line_end)
            self._feed(block[start : min(line_end, start + LONGEST)], self._number, fitting)
            start = line_end + 1
        return end

    def _feed(self, raw: bytes, number: int, fitting: list[str] | None) -> None:
        for line in parse_all(raw, number, self._grammar):
            among = self._gate.of_message(line.message) if fitting is None else fitting
            self.completed = self.following.feed(line, among) or self.completed
        phase = self.following.startup.phase
        if not self._phases or phase != self._phases[-1]:
            self._phases.append(phase)

    def _skip(self, block: bytes, start: int, end: int) -> None:
        """Pass over lines of which it is enough to know that they were there, and which was the last."""
        count, counted = 0, start
        if repeat := self._repeats.take_last():
            first, after = repeat
            counted = min(first, end)
            count = block.count(b"\n", start, counted)
            number = self._number + count + block.count(b"\n", counted, first) + 1
            self._feed(block[first : min(after - 1, first + LONGEST)], number, [])
        self._look_for_clients(block, start, end)
        count += block.count(b"\n", counted, end)
        number, stop = self._number + count, end
        while stop > start:
            line_start = block.rfind(b"\n", start, stop - 1) + 1 or start
            last = parse(block[line_start : min(stop - 1, line_start + LONGEST)], number, self._grammar)
            if last.message.strip():
                self.following.skip(last)
                break
            number, stop = number - 1, line_start
        self._number += count

    def _look_for_clients(self, block: bytes, start: int, end: int) -> None:
        """That a launch has clients counts from the first sign of them on, though the line tells nothing else."""
        for sign in map(str.encode, self.following.looked_for):
            at = block.find(sign, start, end)
            while at >= 0 and self.following.looked_for:
                line_start = block.rfind(b"\n", start, at) + 1 or start
                line_end = block.find(b"\n", at, end)
                for line in parse_all(
                    block[line_start : min(line_end, line_start + LONGEST)], 0, self._grammar
                ):
                    self.following.take_note(replace(line, broken=False))
                at = block.find(sign, line_end, end)


def _telling(grammar: LogGrammar) -> list[str]:
    """What a line must fit to change anything, whatever surrounds it."""
    answers = [] if grammar.clients.goes_on is None else [grammar.clients.goes_on.pattern]
    start = startup.telling(grammar.start, grammar.pulse.stall)
    return [*answers, *start, *incidents.telling(grammar.failures), *stacks.telling(grammar.dumps)]


def _places(block: bytes, sign: bytes, start: int) -> Iterator[int]:
    """Where a sign stands, once a line."""
    at = block.find(sign, start)
    while at >= 0:
        yield at
        line_end = block.find(b"\n", at)
        at = block.find(sign, line_end) if line_end >= 0 else -1


def _lines_above(block: bytes, position: int, count: int, least: int) -> int:
    """The start of the line that stands `count` lines above the one that begins at `position`, at least `least`."""
    for _ in range(count):
        if position <= least:
            return least
        position = block.rfind(b"\n", least, position - 1) + 1 or least
    return max(position, least)


def scan(chunks: Iterable[bytes], grammar: LogGrammar, watched: Watched) -> LaunchLog:
    """The last launch of a log that may hold several, given as its bytes."""
    scanner = Scanner(grammar, watched)
    for chunk in chunks:
        scanner.feed(chunk)
    scanner.close()
    return scanner.following.so_far(over=True)
