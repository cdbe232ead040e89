"""Which network interfaces and RDMA devices does the host have, how do they stand, and what is it called among others?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.facts.source import Command, Fact, Output, Unknown, parsed, plain

# `read` starts no process; a speed cannot be read where there is no carrier.
_SCRIPT = r"""
say() { value=; read -r value <"$2"; printf '%s=%s ' "$1" "$(printf %s "$value" | tr ' ' '_')"; }
[ -d /sys/class/net ] && echo net
for device in /sys/class/net/*; do
  [ -e "$device/operstate" ] || continue
  printf 'interface %s ' "${device##*/}"
  say state "$device/operstate"; say speed "$device/speed"; say mtu "$device/mtu"
  [ -e "$device/device" ] && printf 'physical=yes '
  echo
done
for port in /sys/class/infiniband/*/ports/*; do
  [ -e "$port/state" ] || continue
  device=${port%/ports/*}
  printf 'rdma %s %s ' "${device##*/}" "${port##*/}"
  say state "$port/state"; say rate "$port/rate"; say layer "$port/link_layer"
  for net in "$device"/device/net/*; do [ -e "$net" ] && printf 'interface=%s ' "${net##*/}"; done
  echo
done
[ -d /sys/module/nvidia_peermem ] && echo peermem
read -r name </proc/sys/kernel/hostname
while read -r address names; do
  case "$address:" in 127.*|::1:) case " ${names%%#*} " in *[[:blank:]]"$name"[[:blank:]]*) echo "own-name $address"; break ;; esac ;; esac
done </etc/hosts
true
"""

COMMAND = Command.sh(f"exec 2>/dev/null{_SCRIPT}", timeout=10)


@dataclass(frozen=True)
class Interface:
    """One network interface."""

    name: str
    state: str
    """"up", "down", "unknown" (loopback and tunnels), ..."""
    mbit: int | None
    """Its speed; None for a virtual one, and where there is no carrier."""
    mtu: int | None
    physical: bool


@dataclass(frozen=True)
class RdmaPort:
    """One port of an RDMA device (InfiniBand or RoCE)."""

    device: str
    """As in "mlx5_0", the name that NCCL_IB_HCA takes."""
    port: int
    active: bool
    state: str
    """As the kernel says it: "ACTIVE", "DOWN", "INIT", ..."""
    gbit: float | None
    layer: str | None
    """"InfiniBand" or "Ethernet" (RoCE)."""
    interface: str | None
    """The network interface of the same card, the name that NCCL_SOCKET_IFNAME takes."""


@dataclass(frozen=True)
class Network:
    """All of them, in the order of their names."""

    interfaces: tuple[Interface, ...]
    rdma: tuple[RdmaPort, ...]
    peermem: bool = False
    """Whether nvidia_peermem is loaded, by which RDMA cards read the memory of GPUs."""
    own_name: str | None = None
    """The loopback address that /etc/hosts has for the host's own name, as Debian writes it; None where it has none."""


def parse(output: Output) -> Network | Unknown:
    """From /sys/class/net and /sys/class/infiniband."""
    interfaces, rdma, own_name = [], [], None
    for line in output.out.splitlines():
        kind, *words = line.split() if line.strip() else [""]
        values = dict(word.split("=", 1) for word in words if "=" in word)
        if kind == "interface" and words and "state" in values:
            speed, mtu = values.get("speed", ""), values.get("mtu", "")
            interfaces.append(
                Interface(words[0], values["state"], _number(speed), _number(mtu), "physical" in values)
            )
        elif kind == "rdma" and len(words) > 2 and words[1].isdecimal() and len(words[1]) < 4:
            rdma.append(_port(words[0], int(words[1]), values))
        elif kind == "own-name" and words:
            own_name = words[0]
    if not interfaces and not output.out.startswith("net"):
        return Unknown("network_unread", "the host shows no interfaces in /sys")
    return Network(tuple(interfaces), tuple(rdma), "peermem" in output.out.splitlines(), own_name)


FACT = Fact("network", plain(COMMAND), parsed(parse), Network, by_line=True)


def _port(device: str, port: int, values: dict[str, str]) -> RdmaPort:
    state = values.get("state", "").partition(":")[2].strip("_") or "not known"  # "4: ACTIVE"
    rate = re.match(r"(\d{1,6}(?:\.\d{1,3})?)_Gb", values.get("rate", ""))  # "400 Gb/sec (4X NDR)"
    return RdmaPort(
        device,
        port,
        state == "ACTIVE",
        state,
        float(rate[1]) if rate else None,
        values.get("layer") or None,
        values.get("interface"),
    )


def _number(text: str) -> int | None:
    """None for -1 too, which a virtual interface says."""
    return int(text) if re.fullmatch(r"\d{1,9}", text) else None
