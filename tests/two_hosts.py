"""Two hosts on one Linux machine for tests: each with a network, a host name, processes and a /dev/shm of its own, and an sshd.

They are joined by a link that can be cut; whoever tests reaches each over another one. Files are those of the machine, but for
the home folder, which is each host's own. It needs root and leaves nothing behind: the end of a host's first process is that
of all of them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.on_host.processes import procs
from tests.ssh_files import SshFiles, stanza
from tests.sshd import HOST_PATH, NoSshd
from tests.waiting import eventually

NAMES = ("alpha", "beta")
SHARED_MEMORY = "4g"
_TOOLS = ("ip", "unshare", "setpriv", "mount", "ssh-keygen", "sshd")
_PATH = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin:/sbin"
_FIRST = """
hostname "$1" && mount -t tmpfs -o size=$3,mode=1777 shm /dev/shm && mount --bind "$2/hosts" /etc/hosts
exec "$4" -D -e -f "$2/sshd_config"
"""
"""The first process of a host; sshd then reaps what has lost its parent."""


class NoHosts(NoSshd):
    """Two hosts cannot be had here; the text says why."""


@dataclass(frozen=True)
class LabHost(SshFiles):
    """One of them: `space` is the name of its network, `address` where the other one reaches it, `outer` where tests do."""

    name: str
    folder: Path
    space: str
    address: str
    outer: str

    @property
    def first(self) -> int:
        """The pid of its first process."""
        return int((self.folder / "pid").read_text())

    def living(self, title: str = "") -> list[procs.Process]:
        """Its processes whose titles begin so, but for those of sshd."""
        own = os.readlink(f"/proc/{self.first}/ns/pid")
        return [
            process
            for pid, process in procs.processes().items()
            if process.alive
            and _space(pid) == own
            and (comm := procs.read_bytes(f"/proc/{pid}/comm")).startswith(title.encode())
            and not comm.startswith(b"sshd")
        ]

    def kill(self, title: str) -> None:
        for process in self.living(title):
            procs.send(process, signal.SIGKILL)
        eventually(lambda: not self.living(title))


def _space(pid: int) -> str:
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/pid")
    return ""


@dataclass(frozen=True)
class TwoHosts:
    folder: Path
    hosts: tuple[LabHost, LabHost]

    @property
    def ssh_config(self) -> str:
        return str(self.folder / "ssh_config")

    def cut(self) -> None:
        """Have what one sends to the other get lost on the way: neither's interface goes down. Whoever tests reaches both."""
        for host, other in (self.hosts, self.hosts[::-1]):
            lost = ["lladdr", "02:00:00:00:00:01", "dev", "eth0", "nud", "permanent"]
            _run("ip", "-n", host.space, "neigh", "replace", other.address, *lost)

    def mend(self) -> None:
        for host, other in (self.hosts, self.hosts[::-1]):
            _run("ip", "-n", host.space, "neigh", "del", other.address, "dev", "eth0")


@contextlib.contextmanager
def two_hosts() -> Iterator[TwoHosts]:
    """Both, up; raises NoHosts."""
    if os.geteuid() != 0:
        raise NoHosts("two hosts on one machine need root")
    for tool in _TOOLS:
        if shutil.which(tool, path=_PATH) is None:
            raise NoHosts(f"{tool} is not installed")
    with contextlib.ExitStack() as ends:
        folder = Path(tempfile.mkdtemp(prefix="two-hosts-"))
        ends.callback(shutil.rmtree, folder, ignore_errors=True)
        mark, net = f"{os.getpid():x}", _free_network()
        hosts = (
            LabHost(NAMES[0], folder / NAMES[0], f"dt{mark}a", f"{net}.0.1", f"{net}.1.1"),
            LabHost(NAMES[1], folder / NAMES[1], f"dt{mark}b", f"{net}.0.2", f"{net}.2.1"),
        )
        lab = TwoHosts(folder, hosts)
        try:
            _wire(hosts, ends)
        except subprocess.CalledProcessError as refused:
            raise NoHosts(f"networks of their own are not allowed here: {refused.stderr.strip()}") from None
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "client_key"))
        for host in hosts:
            _furnish(lab, host)
            _start(host, ends)
        yield lab


def _free_network() -> str:
    """The first two numbers of addresses that nobody has here, such as another pair of hosts."""
    taken = _run("ip", "-4", "-o", "addr")
    nets = (f"10.{64 + (os.getpid() + number) % 128}" for number in range(128))
    return next(net for net in nets if f" {net}." not in taken)


def _wire(hosts: tuple[LabHost, LabHost], ends: contextlib.ExitStack) -> None:
    for host in hosts:
        _run("ip", "netns", "add", host.space)
        ends.callback(_run, "ip", "netns", "del", host.space)
    first, second = (host.space for host in hosts)
    _run("ip", "link", "add", "eth0", "netns", first, "type", "veth", "peer", "name", "eth0", "netns", second)
    for host in hosts:
        outside = host.outer.removesuffix("1") + "2"
        _run("ip", "link", "add", host.space, "type", "veth", "peer", "name", "mg0", "netns", host.space)
        ends.callback(subprocess.run, ["ip", "link", "del", host.space], capture_output=True, check=False)
        _run("ip", "addr", "add", f"{outside}/30", "dev", host.space)
        _run("ip", "link", "set", host.space, "up")
        for interface, address in (("eth0", f"{host.address}/24"), ("mg0", f"{host.outer}/30")):
            _run("ip", "-n", host.space, "addr", "add", address, "dev", interface)
            _run("ip", "-n", host.space, "link", "set", interface, "up")
        _run("ip", "-n", host.space, "link", "set", "lo", "up")


def _furnish(lab: TwoHosts, host: LabHost) -> None:
    """Its folders, keys and names, and what a client needs to reach it."""
    for folder in (host.home, host.state_home):
        folder.mkdir(parents=True)
    _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(host.folder / "host_key"))
    shutil.copyfile(lab.folder / "client_key.pub", host.folder / "authorized_keys")
    names = [f"{each.address} {each.name}" for each in lab.hosts]
    (host.folder / "hosts").write_text("\n".join(["127.0.0.1 localhost", *names, ""]))
    environment = {"HOME": host.home, "XDG_STATE_HOME": host.state_home, "PATH": HOST_PATH}
    config = [
        "Port 22",
        f"HostKey {host.folder / 'host_key'}",
        f"AuthorizedKeysFile {host.folder / 'authorized_keys'}",
        "PidFile none",
        "UsePAM no",
        "StrictModes no",
        "PermitRootLogin prohibit-password",
        "UseDNS no",
        "MaxStartups 100",
        "SetEnv " + " ".join(f'{name}="{value}"' for name, value in environment.items()),
        "",
    ]
    (host.folder / "sshd_config").write_text("\n".join(config))
    with (lab.folder / "known_hosts").open("a") as known:
        known.write(host.known_as(host.outer))
    with Path(lab.ssh_config).open("a") as config_file:
        config_file.write(stanza(host.name, lab.folder, HostName=host.outer, User="root"))


def _start(host: LabHost, ends: contextlib.ExitStack) -> None:
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd's own demand of root
    sshd = shutil.which("sshd", path=_PATH)
    assert sshd is not None
    space = ["setpriv", "--pdeathsig", "KILL", "ip", "netns", "exec", host.space]  # tests may be killed
    own = [
        "unshare",
        "-m",
        "-u",
        "-i",
        "-p",
        "-f",
        "--kill-child",
        "--mount-proc",
        "--propagation",
        "private",
    ]
    first = ["sh", "-c", _FIRST, "sh", host.name, str(host.folder), SHARED_MEMORY, sshd]
    log = host.folder / "sshd.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*space, *own, *first], stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
    ends.callback(process.wait)
    ends.callback(process.kill)  # and with it, by --kill-child, the host's first process and all others

    def up() -> bool:
        if process.poll() is not None:
            raise NoHosts(f"a host of its own is not allowed here: {log.read_text()[-300:]}")
        return "Server listening on" in log.read_text()

    eventually(up)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    (host.folder / "pid").write_text(children[0])


def _run(*command: str) -> str:
    environment = {**os.environ, "PATH": _PATH}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
