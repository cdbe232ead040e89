"""Hosts are resolved as ssh resolves them, with and without asking it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from orchestrator.hosts import config, many, plain_config
from orchestrator.hosts.plain_config import NotPlain
from orchestrator.hosts.target import parse_target

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="OpenSSH's client is not installed")

HOSTS = ("gpu1", "gpu2", "gpu3", "ada@gpu4:23", "rack-7", "rack-8", "10.0.0.7", "bastion", "nobody")
"""The first two are asked of ssh."""
PLAIN = {
    "empty": "",
    "by host": """
Host gpu1
    HostName 10.0.0.1
    Port 2222
    User bob
    IdentityFile ~/.ssh/one
    IdentityFile /keys/%r@%h
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile /a/one /a/two
    GlobalKnownHostsFile=/dev/null
Host gpu3
    HostName = 10.0.0.3
    StrictHostKeyChecking accept-new
    HashKnownHosts true
    ConnectTimeout 7
""",
    "the first value counts": "User first\nHost gpu*\n  User second\n  Port 7\nHost *\n  Port 8\n  ServerAliveInterval 20\n",
    "patterns": "Host gpu? !gpu3 rack-*\n  User ada\nHost !rack-7\n  Port 9\nHost rack-7 rack-8\n\tHostKeyAlias rack\n",
    "key files add up": "IdentityFile ~/a\nHost gpu3 gpu4\n  IdentityFile ~/b\n  CertificateFile ~/b-cert.pub\n",
    "jumps": "Host gpu*\n  ProxyJump bastion,ada@inner:33\nHost rack-*\n  ProxyCommand none\n  IdentityAgent $KEYS\n",
    "of no concern here": "# a comment\nHost *\n  SendEnv LANG LC_*\n  LocalForward 8000 localhost:8000\n  LogLevel QUIET\n",
    "included": "Host gpu*\n  Include {folder}/more/*.conf\n  Port 99\nInclude {folder}/more/a.conf\n",
}
NOT_PLAIN = {
    "match": "Match host gpu3\n  User ada\n",
    "canonical names": "CanonicalizeHostname yes\n",
    "an old name of a key": "IdentityFile2 ~/.ssh/old\n",
    "an old name of an interval": "ProtocolKeepAlives 7\n",
    "what changes an interval": "BatchMode yes\n",
    "a quoted value": 'Host gpu3\n  User "ada"\n',
    "a name within a name": "Host gpu*\n  HostName %h.example.com\n",
    "a command": "Host gpu3\n  ProxyCommand relay %h\n",
    "a duration": "ConnectTimeout 1m\n",
    "a comment behind": "Host gpu3 # the third\n  Port 7\n",
    "letters of both sizes": "Host GPU3\n  Port 7\n",
    "a match that is included": "Include {folder}/more/match\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "more").mkdir()
    (tmp_path / "more/a.conf").write_text("User included\nHost gpu3\n  Port 33\n")
    (tmp_path / "more/b.conf").write_text("HostName 10.9.9.9\n")
    (tmp_path / "more/match").write_text("Match all\n  User ada\n")
    return tmp_path


def written(folder: Path, text: str) -> str:
    (folder / "config").write_text(text.format(folder=folder))
    return str(folder / "config")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts that ssh was asked for."""
    hosts: list[str] = []
    ask = config.resolve

    def counted(target: Any, ssh_config: str | None = None) -> Any:
        hosts.append(target.text)
        return ask(target, ssh_config)

    monkeypatch.setattr(config, "resolve", counted)
    return hosts


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
def test_plain_files_are_read_as_ssh_reads_them(folder: Path, asked: list[str], text: str) -> None:
    file = written(folder, text)
    resolver = many.Resolver(file)
    resolved = {host: resolver.resolve(parse_target(host)) for host in HOSTS}
    assert asked == [*HOSTS[:2]]
    assert resolved == {host: config.resolve(parse_target(host), file) for host in HOSTS}


@pytest.mark.parametrize("text", NOT_PLAIN.values(), ids=NOT_PLAIN)
def test_whatever_else_stands_in_them_is_for_ssh_to_say(folder: Path, asked: list[str], text: str) -> None:
    resolver = many.Resolver(written(folder, text))
    for host in HOSTS[:4]:
        resolver.resolve(parse_target(host))
    assert asked == [*HOSTS[:4]]


@pytest.mark.parametrize(
    "text",
    ["Host *\n  ProxyJump a\n  ProxyCommand none\n", "IdentityFile ~/a\nIdentityFile ~/a\n"],
    ids=["a jump and a command", "a key named twice"],
)
def test_a_host_of_which_they_say_two_things_is_asked_for(folder: Path, text: str) -> None:
    with pytest.raises(NotPlain):
        plain_config.read(written(folder, text)).of("gpu1")


@pytest.mark.parametrize("host", ["GPU3", "fe80::1"])
def test_a_name_that_ssh_may_write_otherwise_is_asked_for(folder: Path, asked: list[str], host: str) -> None:
    resolver = many.Resolver(written(folder, "User ada\n"))
    for name in (*HOSTS[:3], host):
        resolver.resolve(parse_target(name))
    assert asked == [*HOSTS[:2], host]


def test_ssh_that_reads_other_files_is_asked(
    folder: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(folder, "User ada\n")
    other = tuple([*many._ask(str(shutil.which("ssh")), file)][1]), ("/opt/etc/ssh_config",)
    monkeypatch.setattr(many, "_ask", lambda ssh, _: (config.read_options(""), sum(other, ())))
    resolver = many.Resolver(file)
    for host in HOSTS[:3]:
        resolver.resolve(parse_target(host))
    assert asked == [*HOSTS[:3]]


def test_a_file_that_was_changed_is_read_again(folder: Path) -> None:
    file = written(folder, "User ada\n")
    assert {many.resolve(parse_target(host), file).user for host in HOSTS[:3]} == {"ada"}
    subprocess.run(["touch", "-d", "2020-01-01", written(folder, "User bob\n")], check=True)
    assert many.resolve(parse_target("gpu3"), file).user == "bob"
