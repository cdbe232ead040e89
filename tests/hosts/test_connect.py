"""Connecting over real servers: names, host keys, jumps."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.cli.hints import after
from orchestrator.hosts import config
from orchestrator.hosts.connect import open_host
from tests.hosts.connecting import Start, greet, refused, write_config
from tests.ports import free_port
from tests.sshd import Settings, Sshd
from tests.waiting import eventually


class TestNames:
    def test_alias(self, sshd: Sshd) -> None:
        assert greet(open_host(sshd.alias, ssh_config=sshd.ssh_config)) == b"hello\n"

    def test_user_host_port(self, sshd: Sshd) -> None:
        assert greet(open_host(sshd.address, ssh_config=sshd.ssh_config)) == b"hello\n"

    def test_without_ssh_installed(self, sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(config.shutil, "which", lambda name: None)  # type: ignore[attr-defined]
        assert greet(open_host(sshd.alias, ssh_config=sshd.ssh_config)) == b"hello\n"

    def test_the_host_has_its_own_home_and_state(self, sshd: Sshd) -> None:
        with open_host(sshd.alias, ssh_config=sshd.ssh_config) as host:
            seen = host.run('printf "%s\\n" "$HOME" "$XDG_STATE_HOME"').stdout.decode().split()
        assert seen == [str(sshd.home), str(sshd.state_home)]

    def test_a_plain_user(self, plain_sshd: Sshd) -> None:
        with open_host(plain_sshd.alias, ssh_config=plain_sshd.ssh_config) as host:
            assert host.run("id -un; test -w /etc || echo plain; touch $XDG_STATE_HOME/x").stdout == (
                f"{plain_sshd.user}\nplain\n".encode()
            )

    def test_local_and_wrong_names_load_no_ssh_library(self) -> None:
        code = (
            "import sys; from orchestrator.hosts.connect import open_host\n"
            "with open_host('local') as host: assert host.run('echo hello').stdout == b'hello\\n'\n"
            "print([name for name in ('paramiko', 'fabric', 'cryptography') if name in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == "[]\n"


class TestHostKeys:
    def test_unknown_then_accepted(self, start_sshd: Start) -> None:
        server = start_sshd(Settings(known=False))
        error = refused(server.alias, ssh_config=server.ssh_config)
        assert error.code == "host_key_unknown"
        assert f"[127.0.0.1]:{server.port}" in error.message
        assert "ssh-ed25519" in error.message
        assert after(error, "deploy") == f"deploy --accept-host-key {server.fingerprint}"
        assert server.known_hosts.read_text() == ""
        assert "Accepted" not in server.log  # nothing was offered to it

        wrong = "SHA256:" + "A" * 43
        error = refused(server.alias, ssh_config=server.ssh_config, accept_host_keys=[wrong])
        assert error.code == "host_key_unknown"

        accepted = [wrong, server.fingerprint]
        assert greet(open_host(server.alias, ssh_config=server.ssh_config, accept_host_keys=accepted))
        assert server.known_hosts.read_text() == server.known_hosts_line()
        assert greet(open_host(server.alias, ssh_config=server.ssh_config))

    def test_changed(self, sshd: Sshd, start_sshd: Start) -> None:
        server = start_sshd(Settings(known=False))
        stale = f"# old\n[127.0.0.1]:{server.port} {sshd.known_hosts_line().split(maxsplit=1)[1]}"
        server.known_hosts.write_text(stale)
        error = refused(server.alias, ssh_config=server.ssh_config, accept_host_keys=[server.fingerprint])
        assert error.code == "host_key_changed"
        assert f"{server.known_hosts}:2" in error.message
        assert sshd.fingerprint in error.message
        assert server.known_hosts.read_text() == stale
        assert "Accepted" not in server.log

    def test_hashed_known_hosts(self, start_sshd: Start) -> None:
        server = start_sshd(Settings())
        subprocess.run(["ssh-keygen", "-H", "-f", str(server.known_hosts)], capture_output=True, check=True)
        assert "127.0.0.1" not in server.known_hosts.read_text()
        assert greet(open_host(server.alias, ssh_config=server.ssh_config))

    def test_host_key_alias(self, sshd: Sshd, tmp_path: Path) -> None:
        known = tmp_path / "known"
        known.write_text(sshd.known_hosts_line().replace(f"[127.0.0.1]:{sshd.port}", "the-box"))
        path = write_config(tmp_path, sshd.host_stanza(HostKeyAlias="the-box", UserKnownHostsFile=str(known)))
        assert greet(open_host(sshd.alias, ssh_config=path))

    def test_revoked(self, sshd: Sshd, tmp_path: Path) -> None:
        known = tmp_path / "known"
        known.write_text(
            f"{sshd.known_hosts_line()}@revoked * {sshd.known_hosts_line().split(maxsplit=1)[1]}"
        )
        path = write_config(tmp_path, sshd.host_stanza(UserKnownHostsFile=str(known)))
        assert refused(sshd.alias, ssh_config=path).code == "host_key_revoked"

    def test_accept_new(self, sshd: Sshd, tmp_path: Path) -> None:
        known = tmp_path / "new folder" / "known"
        stanza = sshd.host_stanza(UserKnownHostsFile=str(tmp_path / "made" / "known"))
        path = write_config(tmp_path, stanza, "StrictHostKeyChecking accept-new\n")
        assert greet(open_host(sshd.alias, ssh_config=path))
        assert (tmp_path / "made" / "known").read_text() == sshd.known_hosts_line()
        assert not known.exists()

    def test_a_configuration_that_checks_nothing_accepts_nothing(self, sshd: Sshd, tmp_path: Path) -> None:
        known = tmp_path / "known"
        stanza = sshd.host_stanza(UserKnownHostsFile=str(known), StrictHostKeyChecking="no")
        path = write_config(tmp_path, stanza)
        error = refused(sshd.alias, ssh_config=path)
        assert error.code == "host_key_unknown"
        fingerprint = error.known["fingerprint"]
        assert greet(open_host(sshd.alias, ssh_config=path, accept_host_keys=[fingerprint]))
        assert known.read_text() == sshd.known_hosts_line()

    def test_the_known_type_is_asked_for(self, start_sshd: Start, tmp_path: Path) -> None:
        rsa = tmp_path / "rsa"
        subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-N", "", "-f", str(rsa)], check=True)
        server = start_sshd(Settings(lines=[f"HostKey {rsa}"], known=False))
        kind, key = rsa.with_suffix(".pub").read_text().split()[:2]
        server.known_hosts.write_text(f"[127.0.0.1]:{server.port} {kind} {key}\n")
        assert greet(open_host(server.alias, ssh_config=server.ssh_config))


class TestJumps:
    def test_two_hops_each_with_its_own_key(self, sshd: Sshd, start_sshd: Start, tmp_path: Path) -> None:
        middle, inner = start_sshd(Settings()), start_sshd(Settings())
        path = write_config(
            tmp_path,
            sshd.host_stanza(),
            middle.host_stanza(),
            inner.host_stanza(ProxyJump=f"{sshd.alias},{middle.alias}"),
        )
        with open_host(inner.alias, ssh_config=path) as host:
            assert host.run("echo $XDG_STATE_HOME").stdout.decode().strip() == str(inner.state_home)
            for hop in (sshd, middle, inner):
                assert len(hop.session_pids()) >= 1
        for hop in (middle, inner):
            eventually(lambda hop=hop: hop.session_pids() == [])  # type: ignore[misc]

    @pytest.mark.parametrize("unknown", ["jump", "inner"])
    def test_an_unknown_key_on_any_hop(self, start_sshd: Start, tmp_path: Path, unknown: str) -> None:
        jump = start_sshd(Settings(known=unknown != "jump"))
        inner = start_sshd(Settings(known=unknown != "inner"))
        path = write_config(
            tmp_path,
            jump.host_stanza(),
            inner.host_stanza(ProxyJump=jump.alias),
        )
        stranger = jump if unknown == "jump" else inner
        error = refused(inner.alias, ssh_config=path)
        assert error.code == "host_key_unknown"
        assert stranger.fingerprint in error.message
        assert f"[127.0.0.1]:{stranger.port}" in error.message
        assert "Accepted" not in stranger.log
        accepted = [stranger.fingerprint]
        assert greet(open_host(inner.alias, ssh_config=path, accept_host_keys=accepted)) == b"hello\n"
        assert stranger.known_hosts.read_text() == stranger.known_hosts_line()

    def test_behind_the_jump_nobody_listens(self, sshd: Sshd, tmp_path: Path) -> None:
        port = free_port()
        stanza = f"Host inner\n    HostName 127.0.0.1\n    Port {port}\n    ProxyJump {sshd.alias}\n"
        path = write_config(tmp_path, stanza, sshd.host_stanza())
        error = refused("inner", ssh_config=path)
        assert error.code == "host_unreachable"
        assert f"127.0.0.1 port {port} (inner)" in error.message
        assert f"through {sshd.alias}" in error.message

    def test_proxy_command(self, sshd: Sshd, start_sshd: Start, tmp_path: Path) -> None:
        inner = start_sshd(Settings())
        relay = f"{shutil.which('ssh')} -F {sshd.ssh_config} -W %h:%p {sshd.alias}"
        path = write_config(tmp_path, inner.host_stanza(ProxyCommand=relay))
        with open_host(inner.alias, ssh_config=path) as host:
            assert host.run("echo $XDG_STATE_HOME").stdout.decode().strip() == str(inner.state_home)
        eventually(lambda: inner.session_pids() == [])

    def test_a_proxy_command_that_fails(self, sshd: Sshd, tmp_path: Path) -> None:
        stanza = sshd.host_stanza(ProxyCommand="sh -c 'echo no way there >&2; exit 1'")
        error = refused(sshd.alias, ssh_config=write_config(tmp_path, stanza))
        assert error.code == "host_unreachable"
        assert "no way there" in error.message
