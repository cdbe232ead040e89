from __future__ import annotations

import base64
import stat
import subprocess
from pathlib import Path

import pytest

from orchestrator.hosts.known_hosts import HostKey, about, append, line_for, parse, read_files
from tests.odd_files import UNREADABLE, put

KEY = HostKey("ssh-ed25519", b"\0\0\0\x0bssh-ed25519\0\0\0 " + bytes(range(32)))
ENCODED = base64.b64encode(KEY.blob).decode()


def named(names: str, host: str) -> bool:
    (entry,) = parse("f", f"{names} ssh-ed25519 {ENCODED} comment")
    return entry.names(host)


@pytest.mark.parametrize(
    ("names", "host", "found"),
    [
        ("gpu", "gpu", True),
        ("gpu", "GPU", True),
        ("gpu", "gpu2", False),
        ("a,gpu,b", "gpu", True),
        ("[gpu]:2222", "[gpu]:2222", True),
        ("[gpu]:2222", "gpu", False),
        ("[gpu]:2222", "[gpu]:2223", False),
        ("g:2222", "[gpu]:2222", False),
        ("*.example.com", "gpu.example.com", True),
        ("gp?", "gpu", True),
        ("*,!gpu", "gpu", False),
        ("!gpu,*", "gpu", False),
        ("!gpu", "other", False),
    ],
)
def test_names(names: str, host: str, found: bool) -> None:
    assert named(names, host) is found


def test_broken_lines_are_passed_over() -> None:
    text = f"# comment\n\ngpu\ngpu ssh-ed25519 not*base64\n@revoked gpu ssh-ed25519 {ENCODED}\ngpu ssh-ed25519 {ENCODED}\n"
    assert [(entry.line, entry.marker) for entry in parse("f", text)] == [(5, "@revoked"), (6, "")]


def test_a_missing_file_is_empty(tmp_path: Path) -> None:
    assert read_files([str(tmp_path / "missing")]) == ()


@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize("host", ["gpu", "[gpu]:2222", "::1"])
def test_ssh_keygen_finds_what_was_appended(tmp_path: Path, host: str, hashed: bool) -> None:
    file = tmp_path / "new" / "known_hosts"
    append(str(file), line_for(host, KEY, hashed=hashed))
    found = subprocess.run(["ssh-keygen", "-F", host, "-f", str(file)], capture_output=True, text=True)
    assert ENCODED in found.stdout
    assert (host in file.read_text()) is not hashed
    (entry,) = read_files([str(file)])
    assert entry.names(host)
    assert not entry.names("other")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_line_that_ssh_hashed_is_understood(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(f"[gpu]:2222 ssh-ed25519 {ENCODED}\n")
    subprocess.run(["ssh-keygen", "-H", "-f", str(file)], capture_output=True, check=True)
    (entry,) = read_files([str(file)])
    assert entry.names("[gpu]:2222")


def test_a_last_line_without_newline_stays_whole(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(f"old ssh-ed25519 {ENCODED}")
    append(str(file), line_for("gpu", KEY, hashed=False))
    assert [entry.patterns for entry in read_files([str(file)])] == [("old",), ("gpu",)]


def test_the_fingerprint_is_ssh_keygens(tmp_path: Path) -> None:
    key = tmp_path / "key.pub"
    key.write_text(f"ssh-ed25519 {ENCODED}\n")
    printed = subprocess.run(["ssh-keygen", "-lf", str(key)], capture_output=True, text=True, check=True)
    assert printed.stdout.split()[1] == KEY.fingerprint


@pytest.mark.parametrize("kind", sorted(UNREADABLE))
def test_a_file_that_cannot_be_read_is_an_empty_one(kind: str, tmp_path: Path) -> None:
    put(tmp_path / "known_hosts", kind)
    (tmp_path / "more").write_text(f"gpu ssh-ed25519 {ENCODED}\n")
    found = read_files([str(tmp_path / "known_hosts"), str(tmp_path / "more")])
    assert [entry.key for entry in found] == [KEY]


@pytest.mark.parametrize(
    ("host", "lines"),
    [("gpu1", [1, 3, 4, 5, 6]), ("GPU1", [1, 3, 4, 5, 6]), ("[gpu1]:22", [2, 3, 4, 5]), ("other", [3, 4, 5])],
)
def test_only_lines_that_may_be_about_a_host_are_looked_at(
    tmp_path: Path, host: str, lines: list[int]
) -> None:
    names = ["Gpu1,10.0.0.1", "[gpu1]:22", "gpu?", "*,!gpu2", "|1|c2FsdA==|aGFzaA==", "@revoked gpu1"]
    (tmp_path / "file").write_text("".join(f"{name} ssh-ed25519 {ENCODED}\n" for name in names))
    entries = about([str(tmp_path / "file")], [host])
    assert [entry.line for entry in entries] == lines
    everything = read_files([str(tmp_path / "file")])
    assert [entry for entry in everything if entry.names(host)] == [
        entry for entry in entries if entry.names(host)
    ]
