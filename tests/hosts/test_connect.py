"""Connecting over real servers: names, jumps, host keys, authentication, faults."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from orchestrator.base.errors import DeployError, HostError
from orchestrator.cli.hints import after
from orchestrator.hosts import config
from orchestrator.hosts.connect import open_host
from orchestrator.hosts.host import Host
from tests.ports import free_port
from tests.sshd import Settings, Sshd
from tests.waiting import PATIENCE_SECONDS, eventually

Start = Callable[[Settings], Sshd]


def greet(host: Host) -> bytes:
    with host:
        return host.run("echo hello").stdout


def refused(text: str, **options: object) -> DeployError:
    """The error that opening this host ends with; no thread of it may be left."""
    before = set(threading.enumerate())
    with pytest.raises(DeployError) as caught:
        open_host(text, **options)  # type: ignore[arg-type]
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()
    return caught.value


def write_config(folder: Path, *stanzas: str) -> str:
    path = folder / "client_config"
    path.write_text("\n".join(stanzas))
    return str(path)


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


class TestAuthentication:
    def test_a_key_that_the_host_refuses(self, sshd: Sshd, start_sshd: Start, tmp_path: Path) -> None:
        stranger = start_sshd(Settings())
        path = write_config(tmp_path, sshd.host_stanza(IdentityFile=str(stranger.client_key)))
        before = sshd.log.count("Connection from") + sshd.log.count("Connection closed")
        error = refused(sshd.alias, ssh_config=path)
        assert error.code == "auth_refused"
        assert f"refused user {sshd.user}" in error.message
        assert str(stranger.client_key) in error.message
        assert "ssh -v" in (error.next_command or "")
        after = sshd.log.count("Connection from") + sshd.log.count("Connection closed")
        assert after - before <= 1  # one conversation: an authentication is not tried again

    def test_no_key_at_all(self, sshd: Sshd, tmp_path: Path) -> None:
        path = write_config(tmp_path, sshd.host_stanza(IdentityFile="none"))
        error = refused(sshd.alias, ssh_config=path)
        assert error.code == "auth_refused"
        assert "no key was found" in error.message

    def test_a_locked_key(self, sshd: Sshd, tmp_path: Path) -> None:
        locked = tmp_path / "locked"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "phrase", "-f", str(locked)], check=True)
        error = refused(
            sshd.alias, ssh_config=write_config(tmp_path, sshd.host_stanza(IdentityFile=str(locked)))
        )
        assert error.code == "auth_refused"
        assert error.next_command == f"ssh-add {locked}"

    def test_agent(self, sshd: Sshd, tmp_path: Path) -> None:
        with agent(tmp_path / "agent", sshd.client_key) as path:
            stanza = sshd.host_stanza(IdentityAgent=path, IdentityFile="none", IdentitiesOnly="no")
            assert greet(open_host(sshd.alias, ssh_config=write_config(tmp_path, stanza)))

    def test_identities_only_holds_for_the_agent(self, sshd: Sshd, start_sshd: Start, tmp_path: Path) -> None:
        stranger = start_sshd(Settings())
        with agent(tmp_path / "agent", sshd.client_key) as path:
            stanza = sshd.host_stanza(IdentityAgent=path, IdentityFile=str(stranger.client_key))
            assert refused(sshd.alias, ssh_config=write_config(tmp_path, stanza)).code == "auth_refused"
            only_public = tmp_path / "key"
            shutil.copy(f"{sshd.client_key}.pub", f"{only_public}.pub")
            stanza = sshd.host_stanza(IdentityAgent=path, IdentityFile=str(only_public))
            assert greet(open_host(sshd.alias, ssh_config=write_config(tmp_path, stanza)))

    def test_a_dead_agent_is_no_obstacle(self, sshd: Sshd, tmp_path: Path) -> None:
        stanza = sshd.host_stanza(IdentityAgent=str(tmp_path / "nobody"))
        assert greet(open_host(sshd.alias, ssh_config=write_config(tmp_path, stanza)))


class TestFaults:
    def test_nobody_listens(self, sshd: Sshd) -> None:
        port = free_port()
        error = refused(f"127.0.0.1:{port}", ssh_config=sshd.ssh_config)
        assert error.code == "host_unreachable"
        assert f"127.0.0.1 port {port}" in error.message
        assert "refused" in error.message

    def test_a_name_that_means_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def unknown(*args: object, **options: object) -> object:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

        monkeypatch.setattr(socket, "getaddrinfo", unknown)
        error = refused("nowhere.invalid", ssh_config=write_config(tmp_path, ""))
        assert error.code == "host_unreachable"
        assert "nowhere.invalid port 22" in error.message
        assert "resolved" in error.message

    def test_a_server_that_says_nothing(self, sshd: Sshd) -> None:
        with socket.create_server(("127.0.0.1", 0)) as mute:
            started = time.monotonic()
            error = refused(f"127.0.0.1:{mute.getsockname()[1]}", ssh_config=sshd.ssh_config, timeout=0.5)
        assert error.code == "host_unreachable"
        assert time.monotonic() - started < 5

    def test_every_address_of_a_name_is_tried(
        self, sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        no_route, found = ("255.255.255.255", sshd.port), ("127.0.0.1", sshd.port)
        stanza = sshd.host_stanza(HostName="two.example", HostKeyAlias=f"[127.0.0.1]:{sshd.port}")
        monkeypatch.setattr(
            socket,
            "getaddrinfo",
            lambda *_, **__: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", at) for at in (no_route, found)],
        )
        assert greet(open_host(sshd.alias, ssh_config=write_config(tmp_path, stanza))) == b"hello\n"

    def test_a_fault_prints_nothing(self, sshd: Sshd) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            address = f"127.0.0.1:{listener.getsockname()[1]}"
            code = (
                "import sys; from orchestrator.hosts.connect import open_host\n"
                "try: open_host(sys.argv[1], ssh_config=sys.argv[2], timeout=0.2)\n"
                "except Exception as error: print(error.code)"
            )
            command = [sys.executable, "-c", code, address, sshd.ssh_config]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == ("host_unreachable\n", "")

    def test_a_fault_below_ssh_is_tried_again(self, sshd: Sshd, tmp_path: Path) -> None:
        with dropping_first(2, sshd.port) as port:
            stanza = sshd.host_stanza(Port=str(port), HostKeyAlias=f"[127.0.0.1]:{sshd.port}")
            assert greet(open_host(sshd.alias, ssh_config=write_config(tmp_path, stanza))) == b"hello\n"

    def test_a_connection_that_dies_under_a_command(self, start_sshd: Start) -> None:
        server = start_sshd(Settings())
        host = open_host(server.alias, ssh_config=server.ssh_config)
        stream = host.stream(["sh", "-c", "echo ready; exec cat"])
        chunks = stream.chunks()
        assert next(chunks) == b"ready\n"
        caught: list[BaseException] = []

        def wait_long() -> None:
            try:
                host.run("echo started; sleep 30", deadline=20)
            except HostError as error:
                caught.append(error)

        running = threading.Thread(target=wait_long)
        running.start()
        eventually(lambda: host._shell is not None)  # type: ignore[attr-defined]
        for pid in server.session_pids():
            with suppress(ProcessLookupError):
                os.kill(pid, 9)
        running.join(PATIENCE_SECONDS)
        assert [getattr(error, "code", None) for error in caught] == ["connection_lost"]
        with pytest.raises(HostError) as lost:
            list(chunks)
        assert lost.value.code == "connection_lost"
        for call in (
            lambda: host.run("true"),
            lambda: host.stream(["true"]),
            lambda: host.script("echo", {}, private=True),
        ):
            with pytest.raises(HostError) as lost:
                call()
            assert lost.value.code == "connection_lost"
        stream.close()
        host.close()
        host.close()


NOISE = "printf 'banner without newline'; echo noise >&2; head -c 300000 /dev/zero; "


class TestNoise:
    """Login shells whose rc files print and whose user has a shell of his own mind."""

    def test_a_login_shell_that_prints(self, start_sshd: Start) -> None:
        wrapper = NOISE + 'eval "$SSH_ORIGINAL_COMMAND"'
        quoted = wrapper.replace('"', '\\"')
        server = start_sshd(Settings(key_prefix=f'command="{quoted}"'))
        with open_host(server.alias, ssh_config=server.ssh_config) as host:
            assert host.run("echo out; echo err >&2").stdout == b"out\n"
            assert host.run("echo err >&2").stderr == b"err\n"
            assert host.script("echo", {"a": 1}) == {"a": 1}
            assert host.script("echo", {"a": 2}, private=True) == {"a": 2}
            assert list(host.stream_script("echo", {"a": 3}).values()) == [{"a": 3}]
            assert b"".join(host.stream(["echo", "out"]).chunks()) == b"out\n"

    def test_an_rc_file_that_prints(self, start_sshd: Start, tmp_path: Path) -> None:
        rc = tmp_path / "rc"
        rc.write_text(NOISE)
        server = start_sshd(Settings(environment={"BASH_ENV": str(rc)}))
        with open_host(server.alias, ssh_config=server.ssh_config) as host:
            assert host.run("bash -c 'echo out'").stdout.endswith(b"out\n")
            assert host.run("echo out").stdout == b"out\n"
            assert host.script("echo", {"a": 1}, private=True) == {"a": 1}


class TestRoundTrips:
    def test_a_few_commands_are_a_few_packets(self, sshd: Sshd, tmp_path: Path) -> None:
        """Shell and runner cost a channel once; whatever follows is one question and one answer."""
        with open_host(sshd.alias, ssh_config=sshd.ssh_config) as host:
            host.run("true")
            host.script("echo", {})
            with counted_waits(host) as waits:
                for _ in range(5):
                    host.run("echo some output; echo more >&2")
                    host.script("echo", {"a": 1})
        assert waits == []


@contextmanager
def counted_waits(host: Host) -> Iterator[list[str]]:
    """Every channel that is opened, since each costs waits of its own."""
    transport = host._transport  # type: ignore[attr-defined]
    opened: list[str] = []
    real = transport.open_channel

    def open_channel(kind: str, *args: object, **options: object) -> object:
        opened.append(kind)
        return real(kind, *args, **options)

    transport.open_channel = open_channel
    try:
        yield opened
    finally:
        transport.open_channel = real


@contextmanager
def agent(socket_path: Path, key: Path) -> Iterator[str]:
    """An ssh-agent that holds one key."""
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket_path)], stdout=subprocess.DEVNULL)
    try:
        eventually(socket_path.exists)
        environment = {**os.environ, "SSH_AUTH_SOCK": str(socket_path)}
        subprocess.run(["ssh-add", "-q", str(key)], env=environment, check=True)
        yield str(socket_path)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def dropping_first(number: int, port: int) -> Iterator[int]:
    """A port that drops its first connections, then relays one to `port`."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for _ in range(number):
            listener.accept()[0].close()
        client, _ = listener.accept()
        with client, socket.create_connection(("127.0.0.1", port)) as server:
            back = threading.Thread(target=relay, args=(server, client))
            back.start()
            relay(client, server)
            back.join()

    def relay(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):  # either end may reset the connection
            while data := source.recv(65536):
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)

    serving = threading.Thread(target=serve)
    serving.start()
    try:
        yield listener.getsockname()[1]
    finally:
        serving.join(PATIENCE_SECONDS)
        listener.close()
