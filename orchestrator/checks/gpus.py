"""Are the GPUs there, and can each be used?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from orchestrator.checks.check import Check, Grade, not_known
from orchestrator.facts import driver, gpus, pci
from orchestrator.facts.examined import amd_gpus, mig, xids
from orchestrator.facts.examined.mig import MigDevice
from orchestrator.facts.gather import Facts
from orchestrator.facts.gpus import Gpus
from orchestrator.facts.source import Unknown

SUBJECT = "GPUs"
MENDS = {
    "no_nvidia_smi": "sudo ubuntu-drivers install --gpgpu    (or your system's driver package)",
    "driver_not_loaded": "sudo modprobe nvidia && nvidia-smi",
    "driver_mismatch": "sudo reboot",
    "nvml_permissions": "ls -l /dev/nvidia*    (in a container: start it with --gpus all)",
    "nvml_unknown": "ls -l /dev/nvidia*    (in a container: start it again)",
    "no_devices": "sudo dmesg | grep -iE 'nvrm|xid' | tail",
    "gpu_lost": "sudo reboot",
    "no_answer": "sudo dmesg | grep -iE 'nvrm|xid' | tail",
}
CLOSED = "the kernel module is the proprietary one, with which cards from Blackwell on do not start"
OPEN = "sudo apt-get install nvidia-dkms-580-server-open    (or your system's open driver package)"


def check(facts: Facts) -> Iterator[Check]:
    """Every card that cannot be used or is in doubt, and the others in one line."""
    read, devices = facts.of(gpus.FACT), facts.of(pci.FACT)
    on_bus = () if isinstance(devices, Unknown) else devices
    if isinstance(read, Unknown):
        if read.code == "not_asked":
            return
        if amd := _of_amd(facts):
            yield from amd
        elif read.code == "no_devices" and _wants_open(facts):
            yield Check(SUBJECT, "fail", f"{read.reason}; {CLOSED}", OPEN)
        else:
            yield _none(read, pci.listed(on_bus, 0), bus_known=not isinstance(devices, Unknown))
        if pci.of_nvidia(on_bus):
            yield from _reported(facts)
        return
    parts = facts.of(mig.FACT)
    yield from _listed(read, () if isinstance(parts, Unknown) else parts)
    for problem in read.problems:
        mend = MENDS["gpu_lost"] if "is lost" in problem else None
        yield Check(SUBJECT, "warn", f"nvidia-smi says besides: {problem}", mend)
    nvidia = pci.of_nvidia(on_bus)
    if nvidia > len(read.gpus):
        words = (
            f"{nvidia} are on the PCI bus, {len(read.gpus)} answer (a container has only what it was given)"
        )
        yield Check(SUBJECT, "warn", words, MENDS["no_devices"])
    yield from _reported(facts)


def _none(read: Unknown, listed: str, *, bus_known: bool) -> Check:
    if read.code == "no_nvidia_smi" and not listed and bus_known:
        return Check(SUBJECT, "pass", "none on the PCI bus: only an engine built for CPUs starts here")
    if read.code == "no_nvidia_smi" and "NVIDIA" not in listed:
        return Check(SUBJECT, "unknown", f"no NVIDIA GPU; {listed}" if listed else read.reason)
    grade: Grade = "fail" if read.code in MENDS else "unknown"
    reason = f"nvidia-smi gives {read.reason}" if read.code == "no_answer" else read.reason
    return Check(SUBJECT, grade, "; ".join(filter(None, (reason, listed))), MENDS.get(read.code))


def _wants_open(facts: Facts) -> bool:
    loaded = facts.of(driver.FACT)
    return not isinstance(loaded, Unknown) and loaded.open is False


def _listed(read: Gpus, parts: tuple[MigDevice, ...]) -> Iterator[Check]:
    sound = [card for card in read.gpus if not card.unusable and not card.doubts]
    kinds = Counter((card.name, card.memory_mib, card.driver) for card in sound)
    for (name, mib, version), count in kinds.items():
        size = "memory shared with the CPU" if mib is None else f"{mib / 1024:.1f} GiB each"
        yield Check(SUBJECT, "pass", f"{count} x {name}, {size}, driver {version or 'not known'}")
    for card in read.gpus:
        if card.unusable:
            yield Check(SUBJECT, "fail", f"GPU{card.index} {card.unusable}", card.mend)
        elif card.doubts:
            yield Check(SUBJECT, "warn", f"GPU{card.index}: {'; '.join(card.doubts)}", card.mend)
        if card.mig == "Enabled":
            into = [part.profile for part in parts if part.gpu == card.index]
            how = f"into {', '.join(into)}" if into else "(MIG), into parts that are not known"
            words = f"GPU{card.index} is cut up {how}: no launch gets the whole of it"
            yield Check(SUBJECT, "warn", words, f"sudo nvidia-smi -i {card.index} -mig 0")


def _of_amd(facts: Facts) -> list[Check]:
    cards = facts.of(amd_gpus.FACT)
    if isinstance(cards, Unknown):
        return []
    kinds = Counter((card.name, card.architecture, card.memory_mib, card.driver) for card in cards)
    return [
        Check(
            SUBJECT,
            "pass",
            f"{count} x {name} ({architecture or 'architecture not known'}), "
            f"{f'{mib / 1024:.1f} GiB each' if mib else 'memory not known'}, driver {version or 'not known'}",
        )
        for (name, architecture, mib, version), count in kinds.items()
    ]


def _reported(facts: Facts) -> Iterator[Check]:
    """What the driver reported of the cards since the boot; most of it is a program's own mistake."""
    read = facts.of(xids.FACT)
    if isinstance(read, Unknown):
        yield from not_known("Xid errors", read, MENDS["no_devices"])
        return
    grave = [xid for xid in read if not xid.of_a_program]
    for xid in grave:
        meaning = f", {xid.meaning}" if xid.meaning else ""
        often = "once" if xid.count == 1 else f"{xid.count} times"
        words = f"Xid {xid.number} on {xid.address}{meaning}, {often} since the boot: {xid.last}"
        yield Check(
            "Xid errors", "warn", words.rstrip(": "), "nvidia-smi -q | grep -iE 'recovery|remap|pending'"
        )
    if not grave:
        of_programs = f", {sum(xid.count for xid in read)} that programs caused" if read else ""
        yield Check("Xid errors", "pass", f"none of the cards since the boot{of_programs}")
