"""How the output of a program on a channel of its own is read: from where it starts, line by line, to its end."""

from __future__ import annotations

import re

import pytest

from orchestrator.base.errors import HostError
from orchestrator.hosts.answers import Program
from orchestrator.hosts.streams import AnswerStream, ByteStream, Channel, lines
from tests.hosts.fake_pipes import Told

PROGRAM = Program("gpu7", "watch", "python3")


def channel(
    *pairs: tuple[bytes, bytes], status: int = 0, reads: bool = True, noise: bytes = b""
) -> tuple[Channel, Told]:
    """A program that says this; before it `noise`, as a shell's rc file prints it."""
    made: list[Told] = []

    def opened(command: str) -> Told:
        found = re.match(r"printf '%s%s\\n' (\S+) (\S+)\nrun it\nexit \$\?$", command)
        assert found
        start = f"{found[1]}{found[2]}\n".encode()
        made.append(
            Told((noise, b""), (start[:9], b""), (start[9:], b""), *pairs, status=status, reads=reads)
        )
        return made[0]

    return Channel(opened, "run it"), made[0]


def test_what_was_printed_before_the_program_began_is_dropped() -> None:
    made, _ = channel((b"out", b"err"), (b"", b"more"), (b"put", b""), noise=b"Welcome!\n")
    assert list(made.chunks()) == [b"out", b"put"]
    assert made.stderr == b"errmore"


def test_the_start_and_the_first_output_may_come_together() -> None:
    made, pipes = channel()
    pipes._pairs = [(b"".join(pair[0] for pair in pipes._pairs) + b"first", b"")]
    assert list(made.chunks()) == [b"first"]


def test_of_error_output_only_the_end_is_kept() -> None:
    made, _ = channel((b"", b"x" * 20_000), (b"", b"last words"))
    assert list(made.chunks()) == []
    assert len(made.stderr) == 16 * 1024
    assert made.stderr.endswith(b"last words")


def test_a_program_that_reads_no_longer_is_no_error_and_a_closed_channel_gives_nothing() -> None:
    made, _ = channel(reads=False)
    made.write(b"too late")
    made, pipes = channel((b"out", b""))
    made.close()
    made.write(b"too late")
    assert (pipes.sent, pipes.closed, made.closed) == (b"", True, True)
    assert list(made.chunks()) == []


def test_values_as_they_come_among_what_is_no_answer() -> None:
    made, pipes = channel((b'noise\n{"value": 1}\n{"val', b""), (b'ue": 2}\n', b""))
    stream = AnswerStream(made, PROGRAM)
    assert list(stream.values()) == [1, 2]
    stream.write(b"word\n")
    assert pipes.sent == b"word\n"


def test_a_program_that_ended_badly_says_so_unless_it_was_closed() -> None:
    made, _ = channel((b'{"value": 1}\n', b"boom"), status=3)
    values = AnswerStream(made, PROGRAM).values()
    assert next(values) == 1
    with pytest.raises(HostError, match="watch ended with status 3 on gpu7: boom"):
        next(values)
    made, _ = channel((b'{"value": 1}\n', b""), status=143)
    stream = AnswerStream(made, PROGRAM)
    values = stream.values()
    next(values)
    stream.close()
    assert list(values) == []


def test_the_end_of_a_command_is_told_from_a_lost_connection() -> None:
    made, pipes = channel((b"out", b""))
    pipes.status = lambda until=None: (_ for _ in ()).throw(HostError("connection_lost", "gone"))  # type: ignore[method-assign]
    chunks = ByteStream(made).chunks()
    assert next(chunks) == b"out"
    with pytest.raises(HostError, match="gone"):
        next(chunks)


@pytest.mark.parametrize(
    ("chunks", "whole"),
    [
        ([b"a\nb\n"], [b"a", b"b"]),
        ([b"a", b"b\n", b"c"], [b"ab", b"c"]),
        ([b"\n\n"], [b"", b""]),
        ([b"a\r\n"], [b"a\r"]),
        ([], []),
    ],
)
def test_whole_lines_and_a_last_one_without_an_end(chunks: list[bytes], whole: list[bytes]) -> None:
    assert list(lines(iter(chunks))) == whole
