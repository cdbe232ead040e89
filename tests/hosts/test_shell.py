from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.base.errors import HostError
from orchestrator.hosts.pipes import Pipes, moment
from orchestrator.hosts.shell import Framed, Framing, Shell, brief

TOKEN = b"0123456789abcdef"


@given(noise=st.binary(max_size=60), output=st.binary(max_size=80), status=st.integers(0, 255), cut=st.data())
def test_an_output_cut_anywhere_is_put_together(
    noise: bytes, output: bytes, status: int, cut: st.DataObject
) -> None:
    raw = noise + TOKEN + b"\n" + output + b"\n" + TOKEN + b" %d\n" % status
    framed = Framed(TOKEN)
    while raw:
        assert framed.status is None
        size = cut.draw(st.integers(1, len(raw)))
        framed.feed(raw[:size])
        raw = raw[size:]
    assert (framed.status, framed.bytes()) == (status, output)


def test_a_shell_that_echoes_its_input_does_not_end_the_output() -> None:
    frame = Framing()
    assert frame.token not in frame.around("true")


def test_every_command_has_a_token_of_its_own() -> None:
    assert len({Framing().token for _ in range(50)}) == 50


@pytest.mark.parametrize("shell", [["sh"], ["sh", "-v"], ["bash", "--posix"], ["bash", "-x"]])
def test_shells_frame_the_output(shell: list[str]) -> None:
    frame = Framing()
    done = subprocess.run(shell, input=frame.around("printf a; printf b >&2; exit 4"), capture_output=True)
    out, err = Framed(frame.token), Framed(frame.token)
    out.feed(done.stdout)
    err.feed(done.stderr)
    assert (out.status, out.bytes()) == (4, b"a")
    assert err.status == 0
    assert b"b" in err.bytes()


class Ended(Pipes):
    """A shell that ended with a few last words; nothing can be written to it."""

    def __init__(self) -> None:
        self._words = [(b"", b"sh: cannot fork\n")]

    def send(self, data: bytes, until: float | None = None) -> None:
        raise BrokenPipeError

    def end_input(self) -> None: ...

    def receive(self, until: float | None = None) -> tuple[bytes, bytes] | None:
        return self._words.pop() if self._words else None

    def status(self, until: float | None = None) -> int:
        return 2

    def close(self) -> None: ...

    def discard(self) -> None: ...


def test_a_shell_that_is_gone_says_its_last_words() -> None:
    with pytest.raises(HostError) as caught:
        Shell("gpu", Ended()).run("true", deadline=1, until=moment(1), subject="'true'")
    assert caught.value.code == "shell_lost"
    assert "status 2" in caught.value.message
    assert "cannot fork" in caught.value.message


def test_a_long_command_is_named_in_one_short_line() -> None:
    assert brief("a  b\nc") == "'a b c'"
    assert len(brief("x" * 500)) <= 62
