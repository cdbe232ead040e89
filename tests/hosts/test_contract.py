"""What every host promises, whether over SSH or here."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.base.errors import DeployError, HostError
from orchestrator.hosts.answers import HostTraceback
from orchestrator.hosts.host import Completed, Host
from orchestrator.hosts.quoting import quote
from orchestrator.hosts.streams import lines
from tests.waiting import PATIENCE_SECONDS, eventually

# Where it may matter who one is on the host.
EVERY_USER = pytest.mark.parametrize("host", ["local", "remote", "plain user"], indirect=True)


def awkward(canary: str) -> list[str]:
    """Texts that a careless shell would run, split or change."""
    return [
        f"$(touch {canary})",
        f"`touch {canary}`",
        f"'; touch {canary}; '",
        f'"; touch {canary}; "',
        f"\n touch {canary}\n",
        f"a\\\n& touch {canary} #",
        "-n",
        "--",
        "",
        " two  blanks ",
        "*",
        "~",
        "!!",
        "\\n \\0101 %s %d %%",
        "π ü 模型 \U0001f600",
        "\t\r\x01\x7f",
        "it's \"quoted\" \\'",
    ]


class TestRun:
    def test_outputs_are_kept_apart(self, host: Host) -> None:
        assert host.run("echo out; echo err >&2; exit 3") == Completed(3, b"out\n", b"err\n")

    @pytest.mark.parametrize("text", ["", "\n", "\n\n", "no newline", "\nleading"])
    def test_output_is_exact(self, host: Host, text: str) -> None:
        assert host.run(f"printf %s {quote(text)}; printf %s {quote(text)} >&2") == Completed(
            0, text.encode(), text.encode()
        )

    def test_output_is_bytes(self, host: Host, folder: str) -> None:
        data = bytes(range(256)) * 2000
        octal = "".join(f"\\0{byte:03o}" for byte in range(256))
        assert host.run(f"for i in $(seq 2000); do printf %b '{octal}'; done").stdout == data

    def test_megabytes_on_both_outputs(self, host: Host) -> None:
        done = host.run("head -c 4000000 /dev/zero >&2; head -c 6000000 /dev/zero")
        assert (len(done.stdout), len(done.stderr)) == (6_000_000, 4_000_000)

    def test_input_is_empty(self, host: Host) -> None:
        assert host.run("cat; echo end", deadline=5).stdout == b"end\n"

    def test_nothing_carries_over(self, host: Host) -> None:
        before = host.run("pwd; umask").stdout
        host.run("cd /; umask 0; left=over; exec >/dev/null; set -e; exit 1")
        assert host.run('pwd; umask; printf %s "$left"').stdout == before

    @pytest.mark.parametrize(
        "command",
        ["echo 'unbalanced", "(", "if", "`", 'echo "$(', "}", "cat <<END", "-dash", "\\", "#", "exit 9"],
    )
    def test_no_command_wedges_the_shell(self, host: Host, command: str) -> None:
        host.run(command, deadline=5)
        assert host.run("echo well").stdout == b"well\n"

    def test_a_background_process_is_not_waited_for(self, host: Host) -> None:
        started = time.monotonic()
        host.run("sleep 30 &")
        assert time.monotonic() - started < 25
        assert host.run("echo next").stdout == b"next\n"

    def test_awkward_words(self, host: Host, folder: str) -> None:
        for text in awkward(f"{folder}/canary"):
            assert host.run(f"printf %s {quote(text)}").stdout == text.encode(), text
        assert host.run(f"ls -A {folder}").stdout == b""

    def test_nul_is_refused(self, host: Host) -> None:
        with pytest.raises(DeployError) as caught:
            host.run("echo \0")
        assert caught.value.code == "host_command"

    def test_a_killed_shell_is_reported_and_replaced(self, host: Host) -> None:
        with pytest.raises(HostError) as caught:
            host.run("echo going; kill -9 $$; exit", deadline=10)
        assert caught.value.code == "shell_lost"
        assert host.run("echo back").stdout == b"back\n"

    def test_past_the_deadline(self, host: Host) -> None:
        started = time.monotonic()
        with pytest.raises(HostError) as caught:
            host.run("echo some; sleep 60", deadline=0.3)
        assert caught.value.code == "deadline"
        assert "0.3 s" in caught.value.message
        assert "sleep 60" in caught.value.message
        assert time.monotonic() - started < 50
        assert host.run("echo back").stdout == b"back\n"

    def test_threads_take_turns(self, host: Host) -> None:
        def ask(number: int) -> bytes:
            return host.run(f"echo {number}; head -c 100000 /dev/zero | tr '\\0' {number}").stdout

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(ask, range(8)))
        assert answers == [b"%d\n" % n + b"%d" % n * 100_000 for n in range(8)]

    def test_waiting_for_a_turn_has_the_deadline_too(self, host: Host, tmp_path: Path) -> None:
        over = tmp_path / "over"
        running = threading.Thread(target=host.run, args=(f"until [ -e {over} ]; do sleep 0.01; done",))
        running.start()
        eventually(host._turn.locked)  # type: ignore[attr-defined]
        with pytest.raises(HostError) as caught:
            host.run("echo never", deadline=0.1)
        over.touch()
        running.join()
        assert caught.value.code == "deadline"


@pytest.mark.parametrize("private", [False, True], ids=["shell", "private"])
class TestScript:
    def test_answer(self, host: Host, private: bool) -> None:
        request = {"text": "it's π\n$(false) %s \\0", "list": [1, None, {"a": 1.5}]}
        assert host.script("echo", request, private=private) == request

    def test_a_large_request(self, host: Host, private: bool) -> None:
        request = {"text": "ü'" * 20_000}
        assert host.script("echo", request, private=private) == request

    def test_refusal_keeps_its_code(self, host: Host, private: bool) -> None:
        with pytest.raises(HostError) as caught:
            host.script("refuse", {"code": "some_code"}, private=private)
        assert (caught.value.code, caught.value.message) == ("some_code", f"{host.name}: It is refused.")

    def test_an_exception_brings_its_traceback(self, host: Host, private: bool) -> None:
        with pytest.raises(HostError) as caught:
            host.script("fail", {"key": "missing"}, private=private)
        assert caught.value.code == "host_script"
        assert "fail failed on" in caught.value.message
        assert "KeyError: 'missing'" in caught.value.message
        assert isinstance(caught.value.__cause__, HostTraceback)
        assert "<orchestrator.on_host.programs.fail>" in str(caught.value.__cause__)

    def test_no_answer(self, host: Host, private: bool) -> None:
        with pytest.raises(HostError) as caught:
            host.script("leave", {"status": 7}, private=private)
        assert caught.value.code == "host_script"
        assert "status 7" in caught.value.message
        assert caught.value.message.endswith("last words")

    def test_it_ends_itself_at_its_deadline(self, host: Host, private: bool) -> None:
        with pytest.raises(HostError) as caught:
            host.script("linger", {"seconds": 20}, deadline=0.5, private=private)
        assert caught.value.code == "deadline"
        assert "linger" in caught.value.message

    def test_python_is_missing(self, host: Host, private: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(host, "python", "/no/such/python3")
        with pytest.raises(HostError) as caught:
            host.script("echo", {}, private=private)
        assert caught.value.code == "host_python_missing"
        assert "/no/such/python3" in caught.value.message

    def test_python_in_the_home_folder(
        self, host: Host, private: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        where = host.run(f"command -v {quote(host.python)}").stdout.decode().strip()
        name = f".test-python-{time.monotonic_ns()}"
        host.run(f'printf \'#!/bin/sh\\nexec %s "$@"\\n\' {where} > "$HOME/{name}"; chmod 700 "$HOME/{name}"')
        monkeypatch.setattr(host, "python", f"~/{name}")
        try:
            assert host.script("echo", {"a": 1}, private=private) == {"a": 1}
        finally:
            host.run(f'rm "$HOME/{name}"')

    def test_no_secret_in_any_argument_list(self, host: Host, private: bool) -> None:
        seen = host.script("spy", {"secret": "hf_" + "Secret" * 4}, private=private)
        assert seen["found"] == []
        assert seen["seen"] > 2
        assert "import" in seen["own"]  # the spy does see argument lists

    def test_another_interpreter(self, host: Host, private: bool) -> None:
        other = host.run(f"command -v {quote(host.python)}").stdout.decode().strip()
        host_python, host.python = host.python, "/no/such/python3"
        try:
            assert host.script("echo", {"a": 1}, private=private, installed_beside=other) == {"a": 1}
        finally:
            host.python = host_python


class TestStream:
    def test_output_until_the_end(self, host: Host) -> None:
        stream = host.stream(["sh", "-c", "echo one; echo noise >&2; printf two"])
        assert b"".join(stream.chunks()) == b"one\ntwo"
        stream.close()
        stream.close()

    def test_awkward_arguments(self, host: Host, folder: str) -> None:
        words = awkward(f"{folder}/canary")
        stream = host.stream(["printf", "%s\\0", *words])
        assert b"".join(stream.chunks()) == "".join(f"{word}\0" for word in words).encode()
        stream.close()
        assert host.run(f"ls -A {folder}").stdout == b""

    def test_megabytes(self, host: Host) -> None:
        stream = host.stream(["sh", "-c", "head -c 4000000 /dev/zero >&2; head -c 5000000 /dev/zero"])
        assert sum(map(len, stream.chunks())) == 5_000_000
        stream.close()

    def test_input(self, host: Host) -> None:
        stream = host.stream(["head", "-n", "1"])
        stream.write(b"a \0 line\n")
        assert b"".join(stream.chunks()) == b"a \0 line\n"
        stream.write(b"too late\n")
        stream.close()
        stream.write(b"closed\n")

    def test_close_lets_go_of_a_reader(self, host: Host) -> None:
        stream = host.stream(["sh", "-c", "echo ready; exec cat"])
        got: list[bytes] = []
        ready = threading.Event()

        def read() -> None:
            for chunk in stream.chunks():
                got.append(chunk)
                ready.set()

        reader = threading.Thread(target=read)
        reader.start()
        assert ready.wait(PATIENCE_SECONDS)
        stream.close()
        reader.join(PATIENCE_SECONDS)
        assert not reader.is_alive()
        assert got == [b"ready\n"]

    def test_a_follower_ends_when_its_stream_is_closed(self, host: Host, folder: str) -> None:
        host.run(f"echo first > {folder}/log")
        stream = host.stream(["sh", "-c", f"echo $$; exec tail -n +1 -F {folder}/log"])
        said = lines(stream.chunks())
        pid = int(next(said))
        assert next(said) == b"first"
        host.run(f"echo second >> {folder}/log")
        assert next(said) == b"second"
        stream.close()
        assert list(said) == []
        alive = f"kill -0 {pid} 2>/dev/null"
        eventually(lambda: host.run(alive).rc != 0)

    def test_side_by_side(self, host: Host) -> None:
        streams = [host.stream(["sh", "-c", f"read word; echo $word {n}"]) for n in range(4)]
        for stream in reversed(streams):
            stream.write(b"said\n")
        assert [b"".join(stream.chunks()) for stream in streams] == [b"said %d\n" % n for n in range(4)]
        assert host.run("echo shell").stdout == b"shell\n"
        for stream in streams:
            stream.close()


@EVERY_USER
class TestScriptStream:
    def test_values_as_they_come(self, host: Host) -> None:
        stream = host.stream_script("count", {"numbers": 2})
        values = stream.values()
        assert [next(values), next(values)] == [0, 1]
        stream.write(b"word\n")
        assert next(values) == "word"
        stream.close()
        assert list(values) == []

    def test_a_refusal_in_the_middle(self, host: Host) -> None:
        stream = host.stream_script("count", {"numbers": 1})
        values = stream.values()
        assert next(values) == 0
        stream.write(b"refuse\n")
        with pytest.raises(HostError) as caught:
            next(values)
        assert caught.value.code == "told_so"
        stream.close()

    def test_a_death_in_the_middle(self, host: Host) -> None:
        stream = host.stream_script("count", {"numbers": 1})
        values = stream.values()
        assert next(values) == 0
        stream.write(b"die\n")
        with pytest.raises(HostError) as caught:
            next(values)
        assert caught.value.code == "host_script"
        assert "143" in caught.value.message
        stream.close()

    def test_a_program_that_answers_once(self, host: Host) -> None:
        stream = host.stream_script("echo", {"a": 1})
        assert list(stream.values()) == [{"a": 1}]
        stream.close()
