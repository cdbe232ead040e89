"""A real OpenSSH server on loopback for tests, and all that a client needs to reach it.

Nothing of the developer's own is read or changed: each server has its own host key, authorized keys and
state folder, and clients are given an ssh_config with its own known_hosts file.

Fixtures: `sshd` (the user who runs the tests), `plain_sshd` (a user without privileges; skipped where the
tests do not run as root), `start_sshd` (a factory for further servers, ended with the test).
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from orchestrator.rehearsal import shm_files, strays
from tests.ports import free_port
from tests.ssh_files import SshFiles, stanza

PLAIN_USER = "deploy-test"
HOST_PATH = f"{Path(getattr(sys, '_base_executable', sys.executable)).resolve().parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin"
"""The interpreter itself comes first: a version manager's wrapper of it would cost 0.1 s a program."""


class NoSshd(Exception):
    """No server can be started here; the text says why."""


@dataclass
class Sshd(SshFiles):
    """A running server, and the folder that holds its files and its client's."""

    folder: Path
    user: str
    port: int
    process: subprocess.Popen[bytes]

    @property
    def alias(self) -> str:
        """The name of this server in its ssh_config."""
        return f"test-{self.folder.name}"

    @property
    def address(self) -> str:
        """`user@127.0.0.1:port`, as `--host` takes it."""
        return f"{self.user}@127.0.0.1:{self.port}"

    @property
    def ssh_config(self) -> str:
        return str(self.folder / "ssh_config")

    @property
    def client_key(self) -> Path:
        return self.folder / "client_key"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    @property
    def fingerprint(self) -> str:
        """Of its host key, as ssh prints it."""
        printed = _run(["ssh-keygen", "-lf", str(self.folder / "host_key.pub")])
        return printed.split()[1]

    @property
    def log(self) -> str:
        return (self.folder / "sshd.log").read_text(errors="replace")

    def host_stanza(self, **options: str) -> str:
        """A `Host` block for an ssh_config; options override or are added."""
        where = {"HostName": "127.0.0.1", "Port": str(self.port), "User": self.user}
        return stanza(self.alias, self.folder, **{**where, **options})

    def known_hosts_line(self) -> str:
        return self.known_as(f"[127.0.0.1]:{self.port}")

    def stop(self) -> None:
        """End the server; connections that are open live on, as with any sshd."""
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()

    def session_pids(self) -> list[int]:
        """The server's processes that carry connections: two each where sshd separates privileges."""
        return _sshd_children(self.process.pid)


def _sshd_children(pid: int) -> list[int]:
    children: list[int] = []
    for child in map(int, _proc(f"{pid}/task/{pid}/children").split()):
        if _proc(f"{child}/comm").startswith("sshd"):
            children += [child, *_sshd_children(child)]
    return children


def _proc(name: str) -> str:
    """What /proc says; nothing of a process that is gone."""
    try:
        return Path("/proc", name).read_text()
    except OSError:
        return ""


@dataclass(frozen=True)
class Settings:
    """What differs between test servers."""

    user: str = field(default_factory=getpass.getuser)
    environment: Mapping[str, str] = field(default_factory=dict)
    """What everything on the host sees, beside HOME and XDG_STATE_HOME."""
    key_type: str = "ed25519"
    key_prefix: str = ""
    """Options in front of the key in authorized_keys, such as `command="..."`."""
    lines: Sequence[str] = ()
    """More lines for sshd_config; they win over the usual ones."""
    known: bool = True
    """Whether the client's known_hosts has the host key."""
    port: int | None = None
    addresses: Sequence[str] = ("127.0.0.1",)
    """Of loopback. Each beyond the first is a host of its own to deploy: it has its own HOME and XDG_STATE_HOME."""


def launch_sshd(settings: Settings) -> Sshd:
    """Start a server and wait until it takes connections; raises NoSshd."""
    program = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if program is None or shutil.which("ssh-keygen") is None:
        raise NoSshd("OpenSSH's server is not installed (Debian: openssh-server)")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd's own demand of root
    folder = Path(tempfile.mkdtemp(prefix="sshd-"))
    try:
        _prepare(folder, settings)
        server = _start(program, folder, settings)
        if server is not None:
            return server
        raise NoSshd(f"sshd does not start: {(folder / 'sshd.log').read_text()[-500:]}")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def end_sshd(server: Sshd) -> None:
    """End a server, its connections, all that runs on its host, and its files."""
    for pid in server.session_pids():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    server.stop()
    end_engines(server)
    shutil.rmtree(server.folder, ignore_errors=True)


def end_engines(server: Sshd) -> None:
    """End all that was started on a server's host, and take away its files in shared memory: `deploy stop` does it as well, and
    takes a hundred times as long."""
    strays.end(server.home)
    shm_files.remove(server.home)


def _prepare(folder: Path, settings: Settings) -> None:
    folder.chmod(0o755)  # a plain user's login reads authorized_keys as that user
    for name in ("host_key", "client_key"):
        _run(["ssh-keygen", "-q", "-t", settings.key_type, "-N", "", "-C", name, "-f", str(folder / name)])
    public = (folder / "client_key.pub").read_text()
    (folder / "authorized_keys").write_text(f"{settings.key_prefix} {public}".lstrip())
    (folder / "authorized_keys").chmod(0o644)
    owner = pwd.getpwnam(settings.user)
    for place in (folder, *_places(folder, settings).values()):
        place.mkdir(mode=0o755, parents=True, exist_ok=True)
        for name in ("home", "state"):
            (place / name).mkdir(mode=0o700)
            if os.geteuid() == 0:
                os.chown(place / name, owner.pw_uid, owner.pw_gid)


def _places(folder: Path, settings: Settings) -> dict[str, Path]:
    """The folder of each further address."""
    return {address: folder / "hosts" / address for address in settings.addresses[1:]}


def _start(program: str, folder: Path, settings: Settings) -> Sshd | None:
    port = settings.port or free_port()
    environment = {
        "HOME": str(folder / "home"),
        "XDG_STATE_HOME": str(folder / "state"),
        "PATH": HOST_PATH,
        **settings.environment,
    }
    config = [
        *settings.lines,
        f"Port {port}",
        # sshd takes 16 of them at most
        f"ListenAddress {settings.addresses[0] if len(settings.addresses) == 1 else '0.0.0.0'}",
        f"HostKey {folder / 'host_key'}",
        f"AuthorizedKeysFile {folder / 'authorized_keys'}",
        f"AllowUsers {settings.user}",
        "PidFile none",
        "UsePAM no",
        "StrictModes no",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "PermitRootLogin prohibit-password",
        "PrintMotd no",
        "UseDNS no",
        "MaxStartups 100",
        "Subsystem sftp internal-sftp",
        _set_env(environment),
    ]
    for address, place in _places(folder, settings).items():
        own = {**environment, "HOME": str(place / "home"), "XDG_STATE_HOME": str(place / "state")}
        config += [f"Match LocalAddress {address}", _set_env(own)]
    (folder / "sshd_config").write_text("\n".join([*config, ""]))
    with (folder / "sshd.log").open("wb") as log:
        process = subprocess.Popen(
            [program, "-D", "-e", "-f", str(folder / "sshd_config")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    server = Sshd(folder, settings.user, port, process)
    if not _listens(server):
        server.stop()
        return None
    server.known_hosts.write_text(server.known_hosts_line() if settings.known else "")
    by_address = server.host_stanza().replace(f"Host {server.alias}", "Host 127.0.0.1", 1)
    Path(server.ssh_config).write_text(server.host_stanza() + by_address)
    return server


def _set_env(environment: Mapping[str, str]) -> str:
    return "SetEnv " + " ".join(f'{name}="{value}"' for name, value in environment.items())


def _listens(server: Sshd) -> bool:
    give_up = time.monotonic() + 10
    while time.monotonic() < give_up and server.process.poll() is None:
        if "Server listening on" in server.log:
            return True
        time.sleep(0.01)
    return False


def _run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def plain_user() -> str:
    """The name of a user without privileges, made where it is missing; raises NoSshd."""
    if os.geteuid() != 0:
        raise NoSshd("only root can log in as somebody else")
    with contextlib.suppress(KeyError):
        return _with_home(pwd.getpwnam(PLAIN_USER))
    if shutil.which("useradd") is None:
        raise NoSshd("useradd is not installed")
    home = Path(tempfile.gettempdir()) / f"{PLAIN_USER}-{secrets.token_hex(4)}"
    # The password '*' takes none; useradd's own '!' locks the account for sshd.
    options = [
        "--system",
        "--no-create-home",
        "--home-dir",
        str(home),
        "--shell",
        "/bin/sh",
        "--password",
        "*",
    ]
    with Path(tempfile.gettempdir(), f"{PLAIN_USER}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # useradd does not wait for another one, and says that it failed
        made = subprocess.run(["useradd", *options, PLAIN_USER], capture_output=True, text=True, check=False)
    try:
        return _with_home(pwd.getpwnam(PLAIN_USER))
    except KeyError:
        raise NoSshd(f"useradd {PLAIN_USER}: {made.stderr.strip()}") from None


def _with_home(user: pwd.struct_passwd) -> str:
    home = Path(user.pw_dir)
    home.mkdir(
        mode=0o700, parents=True, exist_ok=True
    )  # tests of earlier may have had another temporary folder
    os.chown(home, user.pw_uid, user.pw_gid)
    return user.pw_name


def _serve(settings: Callable[[], Settings]) -> Iterator[Sshd]:
    try:
        server = launch_sshd(settings())
    except NoSshd as reason:
        pytest.skip(str(reason))
    try:
        yield server
    finally:
        end_sshd(server)


@pytest.fixture(scope="session")
def sshd() -> Iterator[Sshd]:
    """A server for the user who runs the tests."""
    yield from _serve(Settings)


@pytest.fixture(scope="session")
def plain_sshd() -> Iterator[Sshd]:
    """A server for a user without privileges; only where the tests run as root."""
    yield from _serve(lambda: Settings(user=plain_user()))


@pytest.fixture
def start_sshd() -> Iterator[Callable[[Settings], Sshd]]:
    """A factory of further servers: `start_sshd(Settings(...))`."""
    servers: list[Sshd] = []

    def start(settings: Settings | None = None) -> Sshd:
        try:
            server = launch_sshd(settings or Settings())
        except NoSshd as reason:
            pytest.skip(str(reason))
        servers.append(server)
        return server

    try:
        yield start
    finally:
        for server in servers:
            end_sshd(server)
