from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.base.errors import UsageError
from orchestrator.hosts.quoting import program, quote, through_login_shell

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)


def run(shell: str, line: str) -> bytes:
    return subprocess.run([shell, "-c", line], capture_output=True, check=True).stdout


@settings(max_examples=25)
@given(TEXTS)
def test_a_word_arrives_as_it_is(text: str) -> None:
    assert run("sh", f"printf %s {quote(text)}") == text.encode()


@settings(max_examples=25)
@given(TEXTS)
def test_a_command_arrives_through_a_login_shell(text: str) -> None:
    line = through_login_shell(f"printf '<%s>' {quote(text)}")
    assert run("sh", line) == f"<{text}>".encode()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "csh", "tcsh", "ksh", "busybox"])
def test_every_login_shell_runs_it_in_sh(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    argv = [shell, *(["sh"] if shell == "busybox" else []), "-c"]
    command = "for word in 'a\nb' '$HOME' \"it's\" '\\\\n!' '`x`'; do printf '%s|' \"$word\"; done"
    done = subprocess.run([*argv, through_login_shell(command)], capture_output=True, check=True)
    assert done.stdout == b"a\nb|$HOME|it's|\\\\n!|`x`|"


def test_what_login_shells_differ_in_is_not_in_the_line() -> None:
    line = through_login_shell("echo 'a\nb' \\ ! `x` \"$y\"")
    inside = line.removeprefix("exec /bin/sh -c '").removesuffix("'")
    assert "\n" not in line
    assert "'" not in inside
    assert "!" not in inside
    assert "`" not in inside


def test_only_the_home_of_the_program_is_expanded() -> None:
    assert program(["~/bin/python3", "~/x", "a b"]) == "\"$HOME\"/bin/python3 '~/x' 'a b'"


def test_a_nul_is_refused() -> None:
    for refuse in (quote, through_login_shell):
        with pytest.raises(UsageError):
            refuse("a\0b")
