"""Which GPUs are on the PCI bus, whatever their driver says?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator.facts.source import Command, Fact, Output, Unknown, parsed, plain

VENDORS = {"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}

# Class 0x0300 is a VGA controller, which a GeForce is too, 0x0302 a 3D controller, 0x0380 and 0x1200 have been AMD's. `read`
# starts no process.
_SCRIPT = r"""
[ -d /sys/bus/pci/devices ] && echo bus
for device in /sys/bus/pci/devices/*; do
  read -r vendor <"$device/vendor" && read -r class <"$device/class" || continue
  case $class in 0x03*|0x1200*) ;; *) continue ;; esac
  node=-1; read -r node <"$device/numa_node"
  driver=$(readlink "$device/driver")
  printf '%s %s %s %s %s\n' "${device##*/}" "$vendor" "$class" "$node" "${driver##*/}"
done
true
"""

COMMAND = Command.sh(f"exec 2>/dev/null{_SCRIPT}", timeout=10)


@dataclass(frozen=True)
class PciGpu:
    """One graphics or compute device on the bus; in a container also one that the container was not given."""

    address: str
    """As in "0000:3b:00.0"."""
    vendor: str
    """"NVIDIA", "AMD", "Intel", or the number of another."""
    compute: bool
    """Whether it is no VGA controller, as an integrated one or a server's console is, but a GeForce too."""
    numa_node: int | None
    driver: str | None
    """The kernel's driver that has it: "nvidia", "amdgpu", "nouveau", "vfio-pci" where it was given to a guest."""


def parse(output: Output) -> tuple[PciGpu, ...] | Unknown:
    """The devices of /sys/bus/pci, in the order of their addresses."""
    devices = []
    for line in output.out.splitlines():
        match = re.fullmatch(
            r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (0x[0-9a-f]{4}) (0x[0-9a-f]{6}) (-?\d{1,4}) ?(\S*)",
            line,
        )
        if match:
            address, vendor, kind, node, driver = match.groups()
            devices.append(
                PciGpu(
                    address,
                    VENDORS.get(vendor, vendor),
                    not kind.startswith("0x0300"),
                    int(node) if int(node) >= 0 else None,
                    driver or None,
                )
            )
    if not devices and not output.out.startswith("bus"):
        return Unknown("pci_unreadable", "the host shows no PCI bus in /sys")
    return tuple(devices)


FACT = Fact("pci", plain(COMMAND), parsed(parse), tuple[PciGpu, ...], by_line=True)


def of_nvidia(devices: Iterable[PciGpu]) -> int:
    """How many NVIDIA cards are this machine's own."""
    return sum(device.vendor == "NVIDIA" and device.driver != "vfio-pci" for device in devices)


def listed(devices: Sequence[PciGpu], answering: int) -> str:
    """What is on the bus, in words, beside so many NVIDIA cards that answer; "" where there is nothing more."""
    others = Counter(
        device.vendor for device in devices if device.compute and device.vendor in ("AMD", "Intel")
    )
    words = [f"{count} of {vendor}" for vendor, count in others.items()]
    if (nvidia := of_nvidia(devices)) > answering:
        words.insert(0, f"{nvidia} of NVIDIA")
    return f"on its PCI bus are GPUs: {', '.join(words)}" if words else ""
