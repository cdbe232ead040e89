from __future__ import annotations

import getpass
import shutil
from pathlib import Path

import pytest

from orchestrator.base.errors import UsageError
from orchestrator.hosts import config
from orchestrator.hosts.config import Resolved, from_options, read_options, resolve, ssh_command
from orchestrator.hosts.target import parse_target

ENVIRONMENT = {"HOME": "/home/ada", "SSH_AUTH_SOCK": "/run/agent", "KEYS": "/keys"}

TEXT = """\
Host gpu
    HostName gpu-7.example.com
    Port 2222
    User ada
    IdentityFile ~/.ssh/gpu
    IdentityFile /keys/%r@%h:%p
    IdentitiesOnly yes
    IdentityAgent none
    ProxyJump bastion,ada@inner:33
    HostKeyAlias Box
    StrictHostKeyChecking accept-new
    UserKnownHostsFile /a/one /a/two
    GlobalKnownHostsFile /dev/null
    HashKnownHosts yes
    ConnectTimeout 7
    ServerAliveInterval 20
Host tunnel
    ProxyCommand relay --to %h:%p --as %r %%
"""


def read(text: str, target: str = "gpu") -> Resolved:
    return from_options(read_options(text), parse_target(target), ENVIRONMENT)


def test_the_command_that_asks_ssh() -> None:
    assert ssh_command("ssh", parse_target("ada@gpu:22"), "/f") == [
        *["ssh", "-G", "-F", "/f", "-l", "ada", "-p", "22", "--", "gpu"]
    ]
    assert ssh_command("ssh", parse_target("gpu"), None) == ["ssh", "-G", "--", "gpu"]


def test_defaults() -> None:
    assert read("hostname gpu\nport 22\nuser ada\n") == Resolved(
        hostname="gpu",
        port=22,
        user="ada",
        identity_files=tuple(f"/home/ada/.ssh/id_{kind}" for kind in ("rsa", "ecdsa", "ed25519")),
        identity_agent="/run/agent",
        user_known_hosts=("/home/ada/.ssh/known_hosts", "/home/ada/.ssh/known_hosts2"),
        global_known_hosts=("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"),
    )


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("identityfile ${KEYS}/%r", "identity_files", ("/keys/ada",)),
        ("identityfile none", "identity_files", ()),
        ("identityagent none", "identity_agent", None),
        ("identityagent $KEYS", "identity_agent", "/keys"),
        ("identityagent ~/agent", "identity_agent", "/home/ada/agent"),
        ("identityagent ~nobody-here/agent", "identity_agent", "~nobody-here/agent"),
        ("identityagent $UNSET", "identity_agent", None),
        ("proxyjump none", "proxy_jump", ()),
        ("proxycommand none", "proxy_command", None),
        ("stricthostkeychecking true", "strict_host_key_checking", "yes"),
        ("stricthostkeychecking false", "strict_host_key_checking", "no"),
        ("connecttimeout none", "connect_timeout", None),
        ("userknownhostsfile none", "user_known_hosts", ()),
    ],
)
def test_values(line: str, name: str, value: object) -> None:
    assert getattr(read(f"hostname gpu\nport 22\nuser ada\n{line}\n"), name) == value


@pytest.mark.parametrize(
    ("settings", "name"),
    [({}, "gpu"), ({"port": 2222}, "[gpu]:2222"), ({"port": 2222, "host_key_alias": "box"}, "box")],
)
def test_the_name_in_known_hosts(settings: dict[str, object], name: str) -> None:
    assert Resolved(**{"hostname": "gpu", "port": 22, "user": "a", **settings}).key_name == name  # type: ignore[arg-type]


@pytest.fixture(params=["ssh -G", "paramiko"])
def asked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "paramiko":
        monkeypatch.setattr(config.shutil, "which", lambda name: None)  # type: ignore[attr-defined]
    elif shutil.which("ssh") is None:
        pytest.skip("OpenSSH's client is not installed")
    monkeypatch.setenv("HOME", "/home/ada")
    return str(request.param)


@pytest.mark.usefixtures("asked")
class TestResolve:
    @pytest.fixture
    def file(self, tmp_path: Path) -> str:
        (tmp_path / "config").write_text(TEXT)
        return str(tmp_path / "config")

    def test_alias(self, file: str) -> None:
        assert resolve(parse_target("gpu"), file) == Resolved(
            hostname="gpu-7.example.com",
            port=2222,
            user="ada",
            identity_files=("/home/ada/.ssh/gpu", "/keys/ada@gpu-7.example.com:2222"),
            identities_only=True,
            identity_agent=None,
            proxy_jump=("bastion", "ada@inner:33"),
            user_known_hosts=("/a/one", "/a/two"),
            global_known_hosts=("/dev/null",),
            host_key_alias="box",
            hash_known_hosts=True,
            strict_host_key_checking="accept-new",
            connect_timeout=7.0,
            server_alive_interval=20,
        )

    def test_the_target_wins_over_the_file(self, file: str) -> None:
        resolved = resolve(parse_target("root@gpu:2"), file)
        assert (resolved.user, resolved.port) == ("root", 2)
        assert resolved.identity_files[1] == "/keys/root@gpu-7.example.com:2"

    def test_a_name_that_the_file_does_not_know(self, file: str) -> None:
        resolved = resolve(parse_target("10.0.0.7"), file)
        assert (resolved.hostname, resolved.port, resolved.user) == ("10.0.0.7", 22, getpass.getuser())

    def test_proxy_command(self, file: str) -> None:
        assert resolve(parse_target("bob@tunnel:7"), file).proxy_command == "relay --to tunnel:7 --as bob %"

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError) as caught:
            resolve(parse_target("gpu"), str(tmp_path / "missing"))
        assert caught.value.code == "ssh_config"
        assert str(tmp_path / "missing") in caught.value.message


def test_include_and_match_are_honoured(tmp_path: Path) -> None:
    if shutil.which("ssh") is None:
        pytest.skip("OpenSSH's client is not installed")
    (tmp_path / "more").write_text("Match host gpu user ada\n    HostName 10.0.0.7\n")
    (tmp_path / "config").write_text(f"Include {tmp_path}/more\n")
    assert resolve(parse_target("ada@gpu"), str(tmp_path / "config")).hostname == "10.0.0.7"
