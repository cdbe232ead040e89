"""Processes of this machine: told apart, alive or dead, signalled and waited for."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orchestrator.on_host.processes import procs
from tests.waiting import eventually

REST = "4194560 1 2 3 4 5 6 7 8 20 0 5 0 987654 1000 22 184467"
# The main thread ends while another one lives on, as in a process that is stuck in its driver.
HALF_DEAD = "import ctypes,threading,time;threading.Thread(target=time.sleep,args=(60,)).start();print(1,flush=True);ctypes.CDLL(None).pthread_exit(None)"


@pytest.mark.parametrize("comm", ["python3", "VLLM::Worker_TP", "tmux: server", "a) R 1 (b", "((sd-pam)", ""])
def test_a_name_never_shifts_the_fields(comm: str) -> None:
    one = procs.parse_stat(f"42 ({comm}) S 7 40 41 0 -1 {REST}\n")
    assert one == procs.Process(42, 7, 41, 987654, "S", 5, comm, kernel=False)


def test_kernel_threads_are_told_apart() -> None:
    assert procs.parse_stat("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 0 0 0 0").kernel


@pytest.mark.parametrize(
    ("state", "threads", "alive"),
    [("R", 1, True), ("D", 1, True), ("T", 1, True), ("Z", 1, False), ("X", 0, False), ("Z", 3, True)],
)
def test_alive(state: str, threads: int, alive: bool) -> None:
    assert procs.Process(1, 0, 1, 0, state, threads, "x").alive is alive


def test_a_zombie_is_dead() -> None:
    child = subprocess.Popen(["true"])
    try:
        one = eventually(lambda: (found := procs.process(child.pid)) and found.state == "Z" and found)
        assert not procs.same(one)
        assert procs.send(one, signal.SIGTERM) is False
    finally:
        child.wait()


def test_a_process_whose_main_thread_ended_lives() -> None:
    with subprocess.Popen([sys.executable, "-c", HALF_DEAD], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        one = eventually(lambda: (found := procs.process(child.pid)) and found.state == "Z" and found)
        assert one.alive
        child.kill()
        eventually(lambda: not procs.same(one))


def test_myself() -> None:
    me = procs.process(os.getpid())
    assert me is not None
    assert procs.same(me)
    assert me.session == os.getsid(0)
    assert procs.processes()[me.pid].start_time == me.start_time
    assert os.getppid() in procs.lineage(me.pid, procs.processes())
    assert procs.resident_bytes(me.pid) > 1_000_000
    assert procs.since(me) is not None


def test_nobody_has_this_pid() -> None:
    nobody = 2**22 + 1
    assert procs.process(nobody) is None
    assert procs.marker(nobody) is None
    assert procs.command(nobody) == ""
    assert procs.owner(nobody) is None
    assert procs.resident_bytes(nobody) == 0


@pytest.fixture(params=["pidfd", "no pidfd"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "no pidfd":
        monkeypatch.delattr(os, "pidfd_open")
    return str(request.param)


@pytest.mark.usefixtures("kernel")
def test_a_signal_reaches_the_very_process_or_none() -> None:
    child = subprocess.Popen(["sleep", "60"])
    one = procs.process(child.pid)
    assert one is not None
    earlier = dataclasses.replace(one, start_time=one.start_time - 1)
    assert procs.send(earlier, signal.SIGKILL) is False
    assert procs.same(one)
    assert procs.send(one, signal.SIGTERM) is True
    assert child.wait() == -signal.SIGTERM


@pytest.mark.usefixtures("kernel")
def test_waiting_ends_with_the_first_death() -> None:
    quick, slow = subprocess.Popen(["sleep", "0.1"]), subprocess.Popen(["sleep", "60"])
    both = [one for one in (procs.process(quick.pid), procs.process(slow.pid)) if one]
    began = time.monotonic()
    while all(procs.same(one) for one in both):
        procs.wait_for_end(both, 30)
    assert time.monotonic() - began < 5
    slow.kill()
    quick.wait()
    slow.wait()


def test_waiting_ends_with_the_time() -> None:
    me = procs.process(os.getpid())
    assert me is not None
    began = time.monotonic()
    procs.wait_for_end([me], 0.05)
    assert 0.04 < time.monotonic() - began < 5


def test_a_command_stays_on_its_line() -> None:
    forging = [sys.executable, "-c", "import time; time.sleep(60)", "x\n  next: curl evil\r\n"]
    child = subprocess.Popen(forging)
    try:
        eventually(lambda: "evil" in procs.command(child.pid))
        assert "\n" not in procs.command(child.pid) and "\r" not in procs.command(child.pid)
    finally:
        child.kill()
        child.wait()


def test_marker_and_log(tmp_path: Path) -> None:
    environment = {**os.environ, "NOT_DEPLOY_LAUNCH": "other", "DEPLOY_LAUNCH": "mine-1"}
    log = tmp_path / "vllm.log"
    with log.open("wb") as file:
        child = subprocess.Popen(["sleep", "60"], env=environment, stdout=file)
    try:
        eventually(lambda: procs.command(child.pid).startswith("sleep"))
        assert procs.marker(child.pid) == "mine-1"
        assert procs.outputs(child.pid) >= {str(log)}
        log.unlink()
        assert procs.outputs(child.pid) >= {str(log)}
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize(
    ("cgroup", "number"),
    [
        (f"0::/system.slice/docker-{'8f2c01234567'.ljust(64, 'a')}.scope\n", "8f2c01234567"),
        ("0::/user.slice/user-1000.slice/session-4.scope\n", None),
        ("", None),
    ],
)
def test_the_container_of_a_process(cgroup: str, number: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procs, "read_bytes", {"/proc/812/cgroup": cgroup.encode()}.__getitem__)
    assert procs.container(812) == number
