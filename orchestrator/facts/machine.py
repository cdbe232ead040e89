"""Which machine is this, who are we on it, and what would its logind do to a launch?"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

from orchestrator.facts.source import Command, Fact, Output, Unknown, parsed, plain
from orchestrator.on_host.secrets.secrets import redact

# One `key=value` a line, each asked for by itself: what one of them lacks is no other's loss. What may take its time comes
# last. Of HF_* only names are told: HF_TOKEN is among them.
_SCRIPT = r"""
say() { [ -z "$2" ] || printf '%s=%s\n' "$1" "$2"; }
first() { cat "$@" 2>/dev/null | sed -n '/./{p;q;}'; }
uid=$(id -u)
user=$(id -un 2>/dev/null)
say hostname "$(uname -n || first /proc/sys/kernel/hostname)"
say kernel "$(uname -sr)"
say architecture "$(uname -m)"
say machine_id "$(first /etc/machine-id /var/lib/dbus/machine-id)"
say boot_id "$(first /proc/sys/kernel/random/boot_id)"
say uid "$uid"
say user "${user:-$uid}"
say home "${HOME:-$(getent passwd "$uid" | cut -d: -f6)}"
say state_home "${XDG_STATE_HOME-}"
say hf_home "${HF_HOME-}"
say hf_endpoint "${HF_ENDPOINT-}"
env | sed -n 's/^\(HF_[A-Z0-9_]*\)=..*/hf_name=\1/p'
say cuda_visible_devices "${CUDA_VISIBLE_DEVICES-}"
{ env; cat /etc/nccl.conf "$HOME/.nccl.conf"; } | sed -n 's/^ *\(NCCL_[A-Z0-9_]*\)=..*/nccl=\1/p' | sort -u
cpus=$(getconf _NPROCESSORS_ONLN || nproc)
say cpus "${cpus:-$(grep -c '^processor' /proc/cpuinfo)}"
sed -n 's/^MemTotal: *\([0-9]*\) kB/memory_kib=\1/p; s/^MemAvailable: *\([0-9]*\) kB/memory_free_kib=\1/p' /proc/meminfo
lscpu | sed -n 's/^Model name: *\([^ ].*\)/cpu_model=\1/p; s/^Vendor ID: */cpu_vendor=/p; s/^Socket(s): */sockets=/p'
sed -n 's/^model name[^:]*: */cpu_model=/p; s/^vendor_id[^:]*: */cpu_vendor=/p' /proc/cpuinfo | sort -u
say sockets "$(sed -n 's/^physical id[^:]*: *//p' /proc/cpuinfo | sort -u | grep -c .)"
if [ -d /var/lib/systemd/linger ] && [ -n "$user" ]; then
  if [ -e "/var/lib/systemd/linger/$user" ]; then say linger yes; else say linger no; fi
fi
df -Pk /dev/shm | awk 'NR == 2 { print "shm_kib=" $2; print "shm_free_kib=" $4 }'
if command -v busctl >/dev/null; then
  for name in KillUserProcesses RemoveIPC; do
    say "$name" "$(timeout 5 busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager $name)"
  done
fi
true
"""

COMMAND = Command.sh(f"exec 2>/dev/null{_SCRIPT}", timeout=20)


@dataclass(frozen=True)
class Machine:
    """A host apart from its GPUs; sizes in bytes, None for whatever it does not tell."""

    hostname: str | None
    machine_id: str | None
    """The identity of the machine: a home folder on NFS is shared, this is not."""
    boot_id: str | None
    kernel: str | None
    architecture: str | None
    uid: int | None
    user: str | None
    home: str | None
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
    nccl: tuple[str, ...] = ()
    """Which of NCCL's variables are set there for every program, in the environment or in a file that NCCL reads."""

    @property
    def logout_kills(self) -> bool:
        """Whether a launch would not outlive the SSH session that started it."""
        return bool(self.kill_user_processes) and not self.linger

    @property
    def logout_removes_shm(self) -> bool:
        """Whether the engine's shared memory would vanish under it at the last logout."""
        return bool(self.remove_ipc) and not self.linger and (self.uid is None or self.uid >= 1000)


def parse(output: Output) -> Machine | Unknown:
    """The machine from the lines of COMMAND, whichever of them there are; Unknown where there is none."""
    values: defaultdict[str, list[str]] = defaultdict(list)
    for line in output.out.splitlines():
        key, equals, value = line.partition("=")
        if equals and value.strip():
            values[key].append(value.strip())
    if not values:
        return Unknown("machine_unreadable", "the host's shell answers nothing")
    first = {key: listed[0] for key, listed in values.items()}
    state_home = first.get("state_home", "")
    return Machine(
        hostname=first.get("hostname"),
        machine_id=first.get("machine_id"),
        boot_id=first.get("boot_id"),
        kernel=first.get("kernel"),
        architecture=first.get("architecture"),
        uid=_number(first.get("uid")),
        user=first.get("user"),
        home=first.get("home"),
        state_home=state_home if state_home.startswith("/") else None,
        hf_home=first.get("hf_home"),
        hf_endpoint=redact(endpoint) if (endpoint := first.get("hf_endpoint")) else None,
        hf_names=tuple(sorted(values["hf_name"])),
        cuda_visible_devices=first.get("cuda_visible_devices"),
        cpus=_number(first.get("cpus")),
        cpu_model=first.get("cpu_model"),
        cpu_vendor=first.get("cpu_vendor"),
        sockets=_number(first.get("sockets")) or None,
        memory_bytes=_kib(first.get("memory_kib")),
        memory_free_bytes=_kib(first.get("memory_free_kib")),
        shm_bytes=_kib(first.get("shm_kib")),
        shm_free_bytes=_kib(first.get("shm_free_kib")),
        kill_user_processes=_busctl(first.get("KillUserProcesses")),
        remove_ipc=_busctl(first.get("RemoveIPC")),
        linger={"yes": True, "no": False}.get(first.get("linger", "")),
        nccl=tuple(sorted(values["nccl"])),
    )


FACT = Fact("machine", plain(COMMAND), parsed(parse), Machine, by_line=True)


def _number(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"\d{1,18}", text) else None


def _kib(text: str | None) -> int | None:
    number = _number(text)
    return None if number is None else number * 1024


def _busctl(text: str | None) -> bool | None:
    return {"b true": True, "b false": False}.get(text or "")
