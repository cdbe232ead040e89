"""What the kernel said since a moment, and what of it tells of a card or a program that failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.on_host.processes import kernel_log

LOG = """\
[   10.000000] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.
[   99.900000] python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
[  100.500000] NVRM: Xid (PCI:0000:3b:00): 31, pid=812, name=python3, Ch 00000008, intr 00000000. MMU Fault
[  101.000000] NVRM: Xid (PCI:0000:5e:00): 48, pid='<unknown>', name=<unknown>, DBE on FB
[  101.250000] gpu7 kernel: VLLM::Worker_TP[813]: segfault at 10 ip 00007f2c1d2a sp 00007ffd1c error 4 in libcuda.so.570[7f2c1c+98000]
[  101.300000] traps: python3[814] trap invalid opcode ip:7f1b sp:7ffe error:0 in libgemm.so[7f1b+1000]
[  101.400000] NVRM: loading NVIDIA UNIX Open Kernel Module
a line without a time
"""


def test_only_what_was_said_since_counts() -> None:
    assert len(kernel_log.since(LOG, 100.0)) == 7
    assert kernel_log.since(LOG, 100.0)[-1] == "a line without a time"
    assert len(kernel_log.since(LOG, 5.0)) == 8


def test_cards_and_programs_that_failed() -> None:
    found = kernel_log.faults(kernel_log.since(LOG, 100.0))
    assert [fault["pid"] for fault in found] == [812, None, 813, 814]
    assert found[0]["text"].startswith("NVRM: Xid (PCI:0000:3b:00): 31, pid=812")
    assert (
        found[2]["text"].startswith("VLLM::Worker_TP[813]: segfault at 10")
        and "libcuda.so" in found[2]["text"]
    )
    assert kernel_log.faults(["nothing"]) == []


@pytest.mark.parametrize(
    ("dmesg", "journalctl", "count"),
    [
        ("cat KERNEL", "exit 1", 7),
        (
            "echo 'read kernel buffer failed: Operation not permitted' >&2; exit 1",
            "cat KERNEL",
            7,
        ),
        ("true", "cat KERNEL", 0),
        ("exit 1", "true", None),  # whoever may not read the journal sees an empty one
        ("exit 1", "exit 1", None),
    ],
)
def test_who_can_read_the_kernels_log(
    dmesg: str, journalctl: str, count: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log").write_text(LOG)
    for name, body in (("dmesg", dmesg), ("journalctl", journalctl)):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body.replace('KERNEL', str(tmp_path / 'log'))}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    lines = kernel_log.read(100.0)
    assert (None if lines is None else len(lines)) == count
