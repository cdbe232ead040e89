"""Does an IOMMU or ACS stand between the GPUs, so that peer to peer may hang though the driver allows it?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.facts.source import Command, Fact, Output, Unknown, parsed, plain

# lspci tells ACSCtl to root alone, and prints <access denied> to others. /dev/sda is no matter here: only bridges count.
_SCRIPT = r"""
PATH="$PATH:/usr/sbin:/sbin"; export PATH
[ -r /proc/cmdline ] && echo "cmdline=$(cat /proc/cmdline)"
[ -d /sys/kernel/iommu_groups ] && echo "groups=$(ls /sys/kernel/iommu_groups | wc -l)"
grep -q '^flags.* hypervisor' /proc/cpuinfo && echo guest=yes
if command -v lspci >/dev/null; then
  timeout 8 lspci -vvv | awk '/^[0-9a-f]/ { bridge = /PCI bridge/ } bridge && /ACSCtl:/ { print "acs=" $0 } /access denied/ { denied = 1 }
    END { if (denied) print "denied=yes"; print "lspci=yes" }'
fi
true
"""

COMMAND = Command.sh(f"exec 2>/dev/null{_SCRIPT}", timeout=12)
ON = re.compile(r"(SrcValid|ReqRedir|CmpltRedir)\+")
"""What sends the traffic between two cards through the root complex."""


@dataclass(frozen=True)
class Iommu:
    """What may redirect traffic between GPUs; None where the host does not tell."""

    active: bool | None
    """Whether devices are in IOMMU groups."""
    options: tuple[str, ...]
    """What the kernel was started with about it: "iommu=pt", "intel_iommu=on", ..."""
    acs_bridges: int | None
    """PCI bridges on which ACS redirects; None where only root may ask."""
    guest: bool
    """Whether this is a virtual machine, where ACS belongs on."""


def parse(output: Output) -> Iommu | Unknown:
    """From the kernel's command line, its IOMMU groups, and lspci where it may be asked."""
    values: dict[str, list[str]] = {}
    for line in output.out.splitlines():
        key, equals, value = line.partition("=")
        if equals:
            values.setdefault(key.strip(), []).append(value)
    if not values.keys() & {"cmdline", "groups"}:
        return Unknown("iommu_unread", "the host tells neither its kernel's command line nor IOMMU groups")
    words = values.get("cmdline", [""])[0].split()
    groups = values.get("groups", [""])[0]
    readable = "lspci" in values and "denied" not in values
    return Iommu(
        active=int(groups) > 0 if re.fullmatch(r"\d{1,6}", groups) else None,
        options=tuple(word for word in words if re.match(r"(intel_|amd_)?iommu=|pci=.*acs", word)),
        acs_bridges=sum(bool(ON.search(line)) for line in values.get("acs", [])) if readable else None,
        guest="guest" in values,
    )


FACT = Fact("iommu", plain(COMMAND), parsed(parse), Iommu, by_line=True)
