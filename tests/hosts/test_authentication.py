"""Connecting over real servers: who we are to them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from orchestrator.hosts.connect import open_host
from tests.hosts.connecting import Start, greet, refused, write_config
from tests.sshd import Settings, Sshd
from tests.waiting import eventually


class TestAuthentication:
    def test_a_key_that_the_host_refuses(self, sshd: Sshd, start_sshd: Start, tmp_path: Path) -> None:
        stranger = start_sshd(Settings())
        path = write_config(tmp_path, sshd.host_stanza(IdentityFile=str(stranger.client_key)))
        before = sshd.log.count("Connection from") + sshd.log.count("Connection closed")
        error = refused(sshd.alias, ssh_config=path)
        assert error.code == "auth_refused"
        assert f"refused user {sshd.user}" in error.message
        assert str(stranger.client_key) in error.message
        assert error.next_command == f"ssh -F {path} -v {sshd.alias}"
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


@contextmanager
def agent(socket_path: Path, key: Path) -> Iterator[str]:
    """An ssh-agent that holds one key."""
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket_path)], stdout=subprocess.DEVNULL)
    try:
        environment = {**os.environ, "SSH_AUTH_SOCK": str(socket_path)}
        add = partial(subprocess.run, ["ssh-add", "-q", str(key)], env=environment)
        eventually(lambda: add().returncode == 0)  # the socket is there before anybody listens on it
        yield str(socket_path)
    finally:
        process.terminate()
        process.wait()
