"""Which machine is this, who are we on it, and what would its logind do to a launch?"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from orchestrator.facts.source import Command, Said, Unknown
from orchestrator.on_host.secrets import redact

# One `key=value` a line. Of HF_* only names are told: HF_TOKEN is among them.
_SCRIPT = r"""
say() { printf '%s=%s\n' "$1" "$2"; }
say hostname "$(uname -n)"
say kernel "$(uname -sr)"
say architecture "$(uname -m)"
say machine_id "$(cat /etc/machine-id 2>/dev/null || cat /var/lib/dbus/machine-id 2>/dev/null || uname -n)"
say boot_id "$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"
say uid "$(id -u)"
say user "$(id -un 2>/dev/null || id -u)"
say home "$HOME"
say state_home "$XDG_STATE_HOME"
say hf_home "$HF_HOME"
say hf_endpoint "$HF_ENDPOINT"
env | sed -n 's/^\(HF_[A-Z0-9_]*\)=..*/hf_name=\1/p'
say cuda_visible_devices "${CUDA_VISIBLE_DEVICES-}"
say cpus "$(getconf _NPROCESSORS_ONLN 2>/dev/null)"
lscpu 2>/dev/null | sed -n 's/^Model name: *\([^ ].*\)/cpu_model=\1/p; s/^Vendor ID: */cpu_vendor=/p; s/^Socket(s): */sockets=/p'
sed -n 's/^MemTotal: *\([0-9]*\) kB/memory_kib=\1/p; s/^MemAvailable: *\([0-9]*\) kB/memory_free_kib=\1/p' /proc/meminfo
df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print "shm_kib=" $2; print "shm_free_kib=" $4 }'
if command -v busctl >/dev/null 2>&1; then
  for name in KillUserProcesses RemoveIPC; do
    say "$name" "$(timeout 5 busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager $name 2>/dev/null)"
  done
fi
if [ -d /var/lib/systemd/linger ]; then
  if [ -e "/var/lib/systemd/linger/$(id -un)" ]; then say linger yes; else say linger no; fi
fi
true
"""

COMMAND = Command.sh(_SCRIPT, timeout=20)


@dataclass(frozen=True)
class Machine:
    """A host apart from its GPUs; sizes in bytes, None for what it does not tell."""

    hostname: str
    machine_id: str
    """The identity of the machine: a home folder on NFS is shared, this is not."""
    boot_id: str | None
    kernel: str
    architecture: str
    uid: int
    user: str
    home: str
    state_home: str | None
    """XDG_STATE_HOME, where it is set and absolute."""
    hf_home: str | None
    hf_endpoint: str | None
    """The mirror of the Hub that is set there, without the password that a URL may hold."""
    hf_names: tuple[str, ...]
    """Which HF_* variables are set; HF_TOKEN among them means that the host has a token of its own."""
    cuda_visible_devices: str | None
    """Which cards every program of this user sees, where that is set."""
    cpus: int | None
    cpu_model: str | None
    cpu_vendor: str | None
    """"AuthenticAMD", "GenuineIntel", "ARM", ..."""
    sockets: int | None
    memory_bytes: int | None
    memory_free_bytes: int | None
    shm_bytes: int | None
    """Size of /dev/shm; containers often have 64 MiB."""
    shm_free_bytes: int | None
    kill_user_processes: bool | None
    """Whether logind ends a user's processes at the last logout; None where no logind answers."""
    remove_ipc: bool | None
    """Whether logind removes a user's shared memory at the last logout (never root's)."""
    linger: bool | None

    @property
    def logout_kills(self) -> bool:
        """Whether a launch would not outlive the SSH session that started it."""
        return bool(self.kill_user_processes) and not self.linger

    @property
    def logout_removes_shm(self) -> bool:
        """Whether the engine's shared memory would vanish under it at the last logout."""
        return bool(self.remove_ipc) and not self.linger and self.uid >= 1000


def parse(said: Said) -> Machine | Unknown:
    """The machine from the lines of COMMAND."""
    told: defaultdict[str, list[str]] = defaultdict(list)
    for line in said.out.splitlines():
        key, equals, value = line.partition("=")
        if equals and value.strip():
            told[key].append(value.strip())
    first = {key: values[0] for key, values in told.items()}
    missing = [key for key in ("hostname", "machine_id", "uid", "home") if key not in first]
    if missing:
        return Unknown("machine_unreadable", f"the host does not tell its {', '.join(missing)}")
    state_home = first.get("state_home", "")
    return Machine(
        hostname=first["hostname"],
        machine_id=first["machine_id"],
        boot_id=first.get("boot_id"),
        kernel=first.get("kernel", ""),
        architecture=first.get("architecture", ""),
        uid=int(first["uid"]),
        user=first.get("user", first["uid"]),
        home=first["home"],
        state_home=state_home if state_home.startswith("/") else None,
        hf_home=first.get("hf_home"),
        hf_endpoint=redact(endpoint) if (endpoint := first.get("hf_endpoint")) else None,
        hf_names=tuple(sorted(told["hf_name"])),
        cuda_visible_devices=first.get("cuda_visible_devices"),
        cpus=_number(first.get("cpus")),
        cpu_model=first.get("cpu_model"),
        cpu_vendor=first.get("cpu_vendor"),
        sockets=_number(first.get("sockets")),
        memory_bytes=_kib(first.get("memory_kib")),
        memory_free_bytes=_kib(first.get("memory_free_kib")),
        shm_bytes=_kib(first.get("shm_kib")),
        shm_free_bytes=_kib(first.get("shm_free_kib")),
        kill_user_processes=_busctl(first.get("KillUserProcesses")),
        remove_ipc=_busctl(first.get("RemoveIPC")),
        linger={"yes": True, "no": False}.get(first.get("linger", "")),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def _kib(text: str | None) -> int | None:
    number = _number(text)
    return None if number is None else number * 1024


def _busctl(text: str | None) -> bool | None:
    return {"b true": True, "b false": False}.get(text or "")
