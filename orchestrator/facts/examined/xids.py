"""Which errors did the NVIDIA driver report to the kernel since this boot?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.facts.source import Command, Fact, Output, Unknown, parsed, plain

# Both may be root's alone (kernel.dmesg_restrict, group adm).
_SCRIPT = r"""
said=no
if dmesg >/dev/null 2>&1; then said=yes; dmesg | grep 'NVRM: Xid'; fi
if [ $said = no ] && journalctl -k -n 1 -q 2>/dev/null | grep -q .; then
  said=yes; timeout 8 journalctl -k -b -q --no-pager -o short-iso | grep 'NVRM: Xid'
fi
echo "readable=$said"
"""

COMMAND = Command.sh(f"exec 2>/dev/null{_SCRIPT}", timeout=12)
MEANINGS = {
    13: "a kernel of a program failed",
    31: "a program used memory that is not its own",
    43: "a program was stopped",
    45: "a program was ended",
    48: "an uncorrectable memory error",
    61: "the card's microcontroller stopped",
    62: "the card's microcontroller halted",
    63: "a row of memory is to be replaced",
    64: "a row of memory could not be replaced",
    74: "an NVLink failed",
    79: "the card fell off the bus",
    92: "many corrected memory errors",
    94: "a memory error, contained to one program",
    95: "a memory error that was not contained",
    109: "a program's context timed out",
    119: "the card's system processor does not answer",
    120: "the card's system processor failed",
    140: "an unrecovered memory error",
    143: "the card could not be started",
    154: "the driver asks for a recovery",
}
"""In few words, after NVIDIA's catalogue (docs.nvidia.com/deploy/xid-errors)."""
OF_PROGRAMS = frozenset({13, 31, 43, 45, 109})
"""Mostly a program's own mistake: the card is sound."""


@dataclass(frozen=True)
class Xid:
    """One kind of error on one card."""

    address: str
    """The card's PCI address, as in "0000:3b:00"."""
    number: int
    count: int
    last: str
    """What the driver said the last time, from the number on."""

    @property
    def meaning(self) -> str | None:
        return MEANINGS.get(self.number)

    @property
    def of_a_program(self) -> bool:
        return self.number in OF_PROGRAMS


def parse(output: Output) -> tuple[Xid, ...] | Unknown:
    """From the kernel's log; Unknown where this user may not read it."""
    counts: dict[tuple[str, int], int] = {}
    last: dict[tuple[str, int], str] = {}
    for line in output.out.splitlines():
        match = re.search(r"NVRM: Xid \(PCI:([0-9a-fA-F:.]{5,20})\): (\d{1,4})(?:, ?(.*))?$", line)
        if match:
            key = (match[1], int(match[2]))
            counts[key] = counts.get(key, 0) + 1
            last[key] = (match[3] or "")[:120]
    if not counts and "readable=yes" not in output.out.splitlines():
        return Unknown("kernel_log", "this user may not read the kernel's log")
    return tuple(Xid(*key, counts[key], last[key]) for key in sorted(counts))


FACT = Fact("xids", plain(COMMAND), parsed(parse), tuple[Xid, ...], by_line=True)
