"""A process under nohup: its session, its exit status, its supervisor. Engines are stand-ins (stand_in.py)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from orchestrator.on_host.kinds import nohup
from orchestrator.on_host.processes import procs
from tests.on_host.conftest import Deployments, ready, stand_in
from tests.waiting import eventually


def test_its_own_session_without_terminal_or_foreign_descriptors(deployments: Deployments) -> None:
    leak, other = os.pipe()
    os.set_inheritable(leak, True)
    try:
        one = deployments.launch(stand_in())
        server = ready(one)["server"]
    finally:
        os.close(leak)
        os.close(other)
    found = procs.process(server)
    assert found is not None
    assert found.session == one.pid != os.getsid(0)
    files = {name: os.readlink(f"/proc/{server}/fd/{name}") for name in os.listdir(f"/proc/{server}/fd")}
    assert files == {"0": "/dev/null", "1": str(one.log), "2": str(one.log)}
    ignored = next(
        int(line.split()[1], 16)
        for line in Path(f"/proc/{server}/status").read_text().splitlines()
        if line.startswith("SigIgn")
    )
    assert ignored & 1 << (signal.SIGHUP - 1)


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (stand_in(exit=0), 0),
        (stand_in(exit=3), 3),
        (stand_in(signal=int(signal.SIGKILL)), 137),
        (stand_in(signal=int(signal.SIGTERM)), 143),
        (["/no/such/python", "-m", "vllm"], 127),
        (["/etc/passwd"], 126),
    ],
)
def test_exit_codes(deployments: Deployments, argv: list[str], code: int) -> None:
    one = deployments.launch(argv)
    eventually(lambda: one.exit_code() is not None)
    assert one.exit_code() == code
    if code in (126, 127):
        assert argv[0] in one.log.read_text()


@pytest.mark.parametrize(
    ("recorded", "code"), [("265", 137), ("393", 137), ("137", 137), ("3", 3), ("", None)]
)
def test_how_ksh_and_yash_count_a_signal(deployments: Deployments, recorded: str, code: int | None) -> None:
    one = deployments.launch(stand_in(exit=0))
    eventually(lambda: one.exit_code() == 0)
    (one.folder / "exit").write_text(recorded)
    assert one.exit_code() == code


def test_term_to_the_whole_session_still_leaves_a_record(deployments: Deployments) -> None:
    one = deployments.launch(stand_in())
    ready(one)
    os.killpg(one.pid or 0, signal.SIGTERM)
    assert eventually(lambda: one.exit_code() is not None)
    assert one.exit_code() == 0


SHELLS = ("dash", "bash", "busybox")


def supervised(shell: str, record: Path, *engine: str) -> list[str]:
    """The supervisor in this shell: /bin/sh differs from host to host."""
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"no {shell} here")
    program = [found, "sh"] if shell == "busybox" else [found]
    return [*program, "-c", nohup.SUPERVISOR, "deploy-launch", str(record), *engine]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
@pytest.mark.parametrize("shell", SHELLS)
def test_the_log_of_a_killed_engine_holds_no_word_of_the_shell(
    shell: str, number: signal.Signals, tmp_path: Path
) -> None:
    """dash and busybox wrote "Killed" into it, which reads as if memory had run out."""
    engine = ["/bin/sh", "-c", f"ulimit -c 0; echo up; kill -{int(number)} $$"]
    argv = supervised(shell, tmp_path / "exit", *engine)
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.stdout == b"up\n"
    assert (tmp_path / "exit").read_text() == f"{128 + number}\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_what_the_shell_says_of_a_program_that_is_not_there_is_in_the_log(shell: str, tmp_path: Path) -> None:
    argv = supervised(shell, tmp_path / "exit", "/no/such/python", "-m", "vllm")
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert b"/no/such/python" in done.stdout
    assert (tmp_path / "exit").read_text() == "127\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_the_supervisor_in_each_shell(shell: str, tmp_path: Path) -> None:
    """TERM comes while it waits for the engine."""
    engine = ["/bin/sh", "-c", "echo up; kill -STOP $$; exit 5"]
    argv = supervised(shell, tmp_path / "exit", *engine)
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout is not None
        supervisor.stdout.readline()
        supervisor.terminate()
        (child,) = [one.pid for one in procs.processes().values() if one.parent == supervisor.pid]
        # its line comes before it stops: a CONT in between would be lost, and it would stand for good
        eventually(lambda: (one := procs.process(child)) is not None and one.state == "T")
        os.kill(child, signal.SIGCONT)
        assert supervisor.wait(timeout=10) == 5
    assert (tmp_path / "exit").read_text() == "5\n"
    assert os.listdir(tmp_path) == ["exit"]
