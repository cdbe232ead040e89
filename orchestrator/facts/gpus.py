"""Which GPUs does the host have, and is anything wrong with one of them?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.facts.source import Command, Fact, Output, Unknown, parsed, plain

FIELDS = (
    "index",
    "name",
    "uuid",
    "compute_cap",
    "memory.total",
    "memory.used",
    "driver_version",
    "mig.mode.current",
)
HEALTH_FIELDS = (
    "compute_mode",
    "ecc.errors.uncorrected.volatile.total",
    "remapped_rows.pending",
    "remapped_rows.failure",
    "fabric.state",
    "gpu_recovery_action",
)

NVIDIA_PATH = 'PATH="$PATH:/usr/bin:/usr/local/nvidia/bin:/usr/lib/wsl/lib"; export PATH\n'
"""Where nvidia-smi lies when the PATH of a non-login shell does not lead there."""

# One unknown field fails the whole query, so that a driver is asked for fewer until it knows them all.
_SCRIPT = (
    NVIDIA_PATH
    + r"""
command -v nvidia-smi >/dev/null 2>&1 || { echo 'nvidia-smi: command not found'; exit 127; }
for fields; do
  out=$(nvidia-smi --query-gpu="$fields" --format=csv,noheader,nounits 2>&1); rc=$?
  case $out in *'is not a valid field to query'*) ;; *) break ;; esac
done
printf 'fields: %s\n%s\n' "$fields" "$out"
exit $rc
"""
)
_OLD_FIELDS = tuple(field for field in FIELDS if field != "compute_cap")
ASKED = (
    (*FIELDS, *HEALTH_FIELDS),
    (*FIELDS, *HEALTH_FIELDS[:-1]),  # drivers before about 560 recommend nothing
    (*FIELDS, *HEALTH_FIELDS[:2]),
    FIELDS,
    _OLD_FIELDS,  # drivers before about 510 do not know compute_cap
)

_NEEDED = frozenset(_OLD_FIELDS)

COMMAND = Command.sh(_SCRIPT, *map(",".join, ASKED), timeout=30)


@dataclass(frozen=True)
class Gpu:
    """One card; a value that the driver does not tell is None and its words are in `faults`."""

    index: int
    name: str
    uuid: str
    compute_cap: str | None
    """Compute capability, as in "12.0"."""
    memory_mib: int | None
    """What nvidia-smi names, which is a little more than torch sees."""
    memory_used_mib: int | None
    driver: str | None
    mig: str | None
    """"Enabled", "Disabled", or None on a card that has no MIG."""
    faults: tuple[str, ...] = ()
    """What the driver said in place of a value: "memory.total: [GPU requires reset]"."""
    compute_mode: str | None = None
    """"Default", "Exclusive_Process", "Prohibited"; None, as what follows, where the driver does not tell."""
    ecc_uncorrected: int | None = None
    """Errors in its memory that were not corrected since the driver was loaded."""
    remapping: tuple[str, ...] = ()
    """"pending" until the next reset, "failure": rows of its memory that went bad."""
    fabric: str | None = None
    """How far it has joined the NVLink switches: "Not Started", "In Progress", "Completed"."""
    recovery: str | None = None
    """What the driver recommends to recover it: "Reset", "Reboot", "Drain P2P", "Drain and Reset"."""

    @property
    def unusable(self) -> str | None:
        """Why nothing can be started on it."""
        for fault in self.faults:
            # a driver may not know one thing of a sound card; who does not know its memory has lost it
            unread = fault.startswith("memory.") and ("Unknown Error" in fault or "ERR!" in fault)
            if unread or "requires reset" in fault or "is lost" in fault:
                return f"says {fault}"
        return (
            "lets no program compute (compute mode Prohibited)" if self.compute_mode == "Prohibited" else None
        )

    @property
    def doubts(self) -> tuple[str, ...]:
        """What may spoil a launch on it, or end one later."""
        doubts = []
        if self.recovery:
            doubts.append(f"the driver recommends {self.recovery}")
        if self.ecc_uncorrected:
            doubts.append(f"{self.ecc_uncorrected:,} uncorrected ECC errors since the driver was loaded")
        if "failure" in self.remapping:
            doubts.append("bad rows of its memory could not be replaced")
        if "pending" in self.remapping:
            doubts.append("bad rows of its memory are replaced at the next reset")
        if self.fabric in ("Not Started", "In Progress"):
            doubts.append(f"it has not joined the NVLink switches ({self.fabric}): CUDA may not start")
        if self.compute_mode == "Exclusive_Process":
            doubts.append("only one process may compute on it (compute mode Exclusive_Process)")
        return tuple(doubts)

    @property
    def mend(self) -> str | None:
        """The command on the host that would make it usable, or take a doubt away."""
        if self.compute_mode in ("Prohibited", "Exclusive_Process"):
            return f"sudo nvidia-smi -i {self.index} -c DEFAULT"
        if self.recovery == "Reboot" or any("is lost" in fault for fault in self.faults):
            return "sudo reboot"
        if self.fabric in ("Not Started", "In Progress"):
            return "sudo systemctl restart nvidia-fabricmanager"
        if self.unusable or self.recovery or "pending" in self.remapping:
            return f"sudo nvidia-smi --gpu-reset -i {self.index}"
        return None


@dataclass(frozen=True)
class Gpus:
    """The cards that answered, in the order of their index, and what was said about others."""

    gpus: tuple[Gpu, ...]
    problems: tuple[str, ...] = ()
    """What was said beside the rows, such as a card that fell off the bus, or a row cut off: a card is missing here."""


FAILURES = (
    ("no_nvidia_smi", r"nvidia-smi.*not found", "nvidia-smi is not on the host's PATH"),
    (
        "driver_not_loaded",
        r"couldn't communicate with the NVIDIA driver",
        "the NVIDIA driver is not loaded",
    ),
    (
        "driver_mismatch",
        r"Driver/library version mismatch",
        "the NVIDIA driver was upgraded while loaded; the host needs a reboot",
    ),
    (
        "nvml_permissions",
        r"Failed to initialize NVML: Insufficient Permissions",
        "this user may not open the NVIDIA devices",
    ),
    (
        "nvml_unknown",
        r"Failed to initialize NVML",
        "NVML does not start; a container that lost its devices says so",
    ),
    ("no_devices", r"No devices were found", "the driver finds no usable GPU"),
    ("gpu_query", r"is not a valid field to query", "this driver does not know a field that is asked for"),
)
"""Code, words (they decide before the exit status, which differs between drivers), meaning."""


def parse(output: Output) -> Gpus | Unknown:
    """The cards from `nvidia-smi --query-gpu=... --format=csv`, with or without header and units."""
    text = output.out + output.err
    fields = list(FIELDS)
    rows: list[Gpu] = []
    problems: list[str] = []
    for line in text.splitlines():
        if line.startswith("fields: "):
            fields = line.removeprefix("fields: ").split(",")
        elif re.match(r"\d+, ", line) and (gpu := _row(line, fields)) is not None:
            rows.append(gpu)
        elif line.strip() and not line.startswith("index, "):
            problems.append(line.strip()[:200])
    if rows:
        return Gpus(tuple(sorted(rows, key=lambda gpu: gpu.index)), tuple(problems))
    if (failed := failure(output)) is not None:
        return failed
    if lost := next((problem for problem in problems if "is lost" in problem), None):
        return Unknown("gpu_lost", lost)
    reason = problems[0] if problems else f"nvidia-smi named no GPU (exit status {output.rc})"
    return Unknown("no_devices", reason)


FACT = Fact("gpus", plain(COMMAND), parsed(parse), Gpus)


def failure(output: Output) -> Unknown | None:
    """What nvidia-smi says where it cannot answer at all."""
    for code, words, meaning in FAILURES:
        if re.search(words, output.out + output.err):
            return Unknown(code, meaning)
    return None


def _row(line: str, fields: list[str]) -> Gpu | None:
    cells = [cell.strip() for cell in line.split(", ")]
    spare = len(cells) - len(fields)
    if spare < 0:
        return None
    # a name may hold the separator; everything else cannot
    cells[1 : 2 + spare] = [", ".join(cells[1 : 2 + spare])]
    if len(cells) != len(fields):
        return None
    values = dict(zip(fields, cells, strict=True))
    if not values.keys() >= _NEEDED or not re.fullmatch(r"\d{1,6}", values["index"]):
        return None
    cap, recovery = values.get("compute_cap", ""), values.get("gpu_recovery_action", "")
    faults = tuple(
        f"{field}: {value}"
        for field, value in values.items()
        if (value.startswith("[") and value not in ("[N/A]", "[Not Supported]")) or value == "ERR!"
    )
    return Gpu(
        index=int(values["index"]),
        name=values["name"],
        uuid=values["uuid"],
        compute_cap=cap if re.fullmatch(r"\d{1,3}\.\d{1,3}", cap) else None,
        memory_mib=_mib(values["memory.total"]),
        memory_used_mib=_mib(values["memory.used"]),
        driver=_value(values["driver_version"]),
        mig=_value(values["mig.mode.current"]),
        faults=faults,
        compute_mode=_value(values.get("compute_mode", "")),
        ecc_uncorrected=_count(values.get("ecc.errors.uncorrected.volatile.total", "")),
        remapping=tuple(
            word for word in ("pending", "failure") if values.get(f"remapped_rows.{word}") == "Yes"
        ),
        fabric=_value(values.get("fabric.state", "")),
        recovery=None if recovery == "None" else _value(recovery),
    )


def _value(cell: str) -> str | None:
    return None if not cell or cell.startswith("[") or cell in ("N/A", "ERR!") else cell


def _count(cell: str) -> int | None:
    return int(cell) if re.fullmatch(r"\d{1,18}", cell) else None


def _mib(cell: str) -> int | None:
    match = re.fullmatch(r"(\d{1,12})( MiB)?", cell)
    return int(match[1]) if match else None
