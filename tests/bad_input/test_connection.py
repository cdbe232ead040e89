"""What stops a command before it has reached the host; `tests/hosts` has every shade of it."""

from __future__ import annotations

import json
import shutil
import socket
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.bad_input.refused import reach, refused
from tests.deployments import Case
from tests.odd_files import put
from tests.ports import free_port
from tests.sshd import Sshd


@pytest.mark.parametrize("port", ["refused", "wrong"])
def test_a_port_on_which_no_ssh_server_answers(case: Case, port: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        at = other.getsockname()[1] if port == "wrong" else free_port()
        threading.Thread(target=answer_as_another_protocol, args=(other,), daemon=True).start()
        reach(case, Port=str(at))
        error = refused(case, exit_code=3, code="host_unreachable")
        other.shutdown(socket.SHUT_RDWR)  # lets go of the thread
        assert f"port {at}" in error["message"]
        assert error["next"] == f"ssh -F {case.home / 'ssh_config'} -v {case.server.alias}"


def test_no_such_host(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> object:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    reach(case, HostName="nowhere.invalid")
    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", unknown)
        error = refused(case, exit_code=3, code="host_unreachable")
    assert "nowhere.invalid port" in error["message"]


def test_a_key_that_is_refused(case: Case, tmp_path: Path) -> None:
    reach(case, IdentityFile=str(case.server.folder / "host_key"))
    error = refused(case, exit_code=3, code="auth_refused")
    assert error["next"] == f"ssh -F {case.home / 'ssh_config'} -v {case.server.alias}"


def test_pipes_beside_a_key(case: Case, tmp_path: Path) -> None:
    """Nobody writes into them: they are passed over, as a missing public key or certificate is."""
    key = tmp_path / "key"
    shutil.copy(case.server.folder / "host_key", key)
    put(tmp_path / "key.pub", "pipe")
    put(tmp_path / "certificate", "pipe")
    reach(case, IdentityFile=str(key), CertificateFile=str(tmp_path / "certificate"))
    error = refused(case, exit_code=3, code="auth_refused")
    assert str(key) in error["message"]


def test_an_unknown_host_key(case: Case, tmp_path: Path) -> None:
    reach(case, UserKnownHostsFile=str(tmp_path / "none"))
    error = refused(case, exit_code=3, code="host_key_unknown")
    assert case.server.fingerprint in error["message"]
    assert case.server.fingerprint in error["next"]


def test_a_changed_host_key(case: Case, tmp_path: Path) -> None:
    own = case.server.known_hosts_line().split()
    other = (case.server.folder / "client_key.pub").read_text().split()[1]
    (tmp_path / "known").write_text(f"{own[0]} {own[1]} {other}\n")
    reach(case, UserKnownHostsFile=str(tmp_path / "known"))
    error = refused(case, exit_code=3, code="host_key_changed")
    assert "ssh-keygen -R" in error["next"]


def test_a_name_that_ssh_would_take_for_an_option(case: Case, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    case.deploy.server = cast(Sshd, SimpleNamespace(alias=f"-oProxyCommand=touch {canary}", ssh_config=""))
    assert case.deploy("PLAYBOOK").code == 2
    assert not canary.exists()


def test_a_shell_that_prints_changes_nothing_of_the_answer(whole: Case, first_on_path: Path) -> None:
    noise = "printf 'Welcome! \\033[1m'; echo rc noise >&2; "
    quoted = (noise + 'eval "$SSH_ORIGINAL_COMMAND"').replace('"', '\\"')
    quiet = json.loads(whole.deploy("plan", "PLAYBOOK", "--json").out)
    keys = whole.server.folder / "authorized_keys"
    before = keys.read_text()
    try:
        keys.write_text(f'command="{quoted}" {before}')
        noisy = json.loads(whole.deploy("plan", "PLAYBOOK", "--json").out)
    finally:
        keys.write_text(before)
    assert noisy == quiet


def answer_as_another_protocol(server: socket.socket) -> None:
    """Take connections and answer each as a web server would, until the socket is closed."""
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection, suppress(ConnectionError):  # whoever asked may have left
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
