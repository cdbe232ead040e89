"""Who may have made a file in /dev/shm, from what a process has mapped."""

from __future__ import annotations

import subprocess
import sys

import pytest

from orchestrator.engines.vllm.footprint import FOOTPRINT
from orchestrator.on_host.processes import makers, procs
from orchestrator.on_host.processes.makers import Maker
from tests.waiting import eventually

KNOWN = FOOTPRINT.shared_memory
PYTHON = "/usr/bin/python3.11"
DYNLOAD = b"... /usr/lib/python3.11/lib-dynload/_json.cpython-311-x86_64-linux-gnu.so\n"


@pytest.mark.parametrize(
    ("maps", "executable", "command", "made"),
    [
        (DYNLOAD, PYTHON, "python3 -m http.server", set()),
        (DYNLOAD + b"/x/_posixshmem.cpython-311.so\n", PYTHON, "python3 x.py", {"psm_"}),
        (DYNLOAD + b"/x/_multiprocessing.cpython-311.so\n", PYTHON, "python3 x.py", {"sem.mp-", "sem.loky-"}),
        (
            b"",
            "/opt/uv/python3.12",
            "python x.py",
            {"psm_", "sem.mp-", "sem.loky-"},
        ),  # extension modules built in
        (b"", "/usr/bin/bash", "bash", set()),
        (b"/x/lib/libtorch_cpu.so\n", "/x/VLLM", "VLLM::Worker_TP0", {"vllm_", "nccl-", "torch_"}),
        (b"/x/libnccl.so.2\n", "/x/all_reduce_perf", "all_reduce_perf", {"nccl-"}),
        (b"", "/usr/bin/dd", "dd of=/dev/shm/psm_1", {names.begin for names in KNOWN}),
    ],
)
def test_makes(maps: bytes, executable: str, command: str, made: set[str]) -> None:
    assert makers.makes(maps, executable, command, "/dev/shm", KNOWN) == made


@pytest.mark.parametrize(
    ("name", "changed", "may"),
    [
        ("psm_1", 100.0, True),
        ("psm_1", 95.0, True),  # clocks are set
        ("psm_1", 80.0, False),  # it was there before the process
        ("sem.mp-1", 200.0, False),
    ],
)
def test_may_have_made(name: str, changed: float, may: bool) -> None:
    assert Maker(7, "python", 100.0, frozenset({"psm_"})).may_have_made(name, changed) is may


def test_a_python_that_uses_shared_memory_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import sys\nfrom multiprocessing import shared_memory\nprint(flush=True)\nsys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        uid = procs.owner_uid(child.pid)
        assert uid is not None
        found = {maker.pid: maker for maker in makers.living(uid, "/dev/shm", KNOWN)}
        assert "psm_" in found[child.pid].makes
        assert child.pid not in {maker.pid for maker in makers.living(uid + 1, "/dev/shm", KNOWN)}
        child.communicate()
    eventually(lambda: child.pid not in {maker.pid for maker in makers.living(uid, "/dev/shm", KNOWN)})
