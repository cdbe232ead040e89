"""An engine is installed by the real uv from an index on this machine, as the program is shipped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.hosts import bootstrap, ship
from orchestrator.on_host.environments import uv
from orchestrator.on_host.programs import install_engine
from orchestrator.on_host.refusal import Refusal
from tests.on_host.programs.download_site import answer, error_of
from tests.package_index import PackageIndex, uv_wheel, wheel
from tests.waiting import PATIENCE_SECONDS, eventually

WHEEL = "vllm-0.16.0-py3-none-any.whl"


class Host:
    """A home folder, and an index."""

    def __init__(self, home: Path, index: PackageIndex) -> None:
        self.index = index
        self.engines = home / ".local/share/deploy/engines"
        self.room = self.engines / "vllm-0.16.0"
        self.python = self.room / "environment/bin/engine-python"

    def request(self, action: str, **more: Any) -> dict[str, Any]:
        return {
            "action": action, "instance": "p", "engine": "vllm", "version": "0.16.0", "module": "vllm",
            "pythons": ">=3.9", "left_out": [], "also": None, "pages": [], "indexes": [self.index.url], "from_wheels": False,
            "likely_bytes": None, **more,
        }  # fmt: skip

    def begin(self, action: str, **more: Any) -> subprocess.Popen[bytes]:
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        process = subprocess.Popen(bootstrap.interpreter(sys.executable), **pipes)
        assert process.stdin is not None
        process.stdin.write(ship.bundle("install_engine", self.request(action, **more), deadline=60))
        process.stdin.flush()
        return process

    def call(self, action: str, **more: Any) -> dict[str, Any]:
        """The program as shipped, in a process of its own."""
        return answer(self.begin(action, **more))

    def run(self, **more: Any) -> dict[str, Any]:
        """The installation itself, carried out in this process."""
        return install_engine.main(self.request("run", **more))

    def status(self) -> dict[str, Any]:
        return install_engine.main(self.request("status"))

    def finish(self) -> dict[str, Any]:
        eventually(lambda: self.status()["state"] != "running")
        return self.status()

    def version(self) -> str:
        program = "import sys, vllm; print(vllm.VERSION, sys.prefix)"
        done = subprocess.run([self.python, "-c", program], capture_output=True, text=True, check=True)
        version, prefix = done.stdout.split()
        assert prefix == str(self.room / "environment")
        return version

    @property
    def asked(self) -> list[str]:
        """How often a uv looked for the engine: of a wheel it reads parts first."""
        return [path for path in self.index.requests if path == "/simple/vllm/"]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    binary = uv_wheel()
    if binary is None:
        pytest.skip(f"uv {uv.VERSION} cannot be had here")
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    (wheels / binary.name).symlink_to(binary)
    wheel(wheels, "vllm", "0.16.0", {"vllm/__init__.py": b"VERSION = '0.16.0'\n"})
    for name in [name for name in os.environ if name.startswith(("UV_", "PIP_", "XDG_"))]:
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with PackageIndex(wheels) as index:
        monkeypatch.setenv("UV_DEFAULT_INDEX", index.url)  # nothing is asked of PyPI
        yield Host(home, index)


def test_an_engine_is_installed_and_goes_on_by_itself(host: Host) -> None:
    started = host.call("start")
    assert (started["state"], started["holder"]["engine"]) == ("started", "vllm")
    assert os.getsid(started["holder"]["pid"]) == started["holder"]["pid"]
    ended = host.finish()
    assert (ended["state"], ended["last"]["version"], ended["last"]["made"]) == ("done", "0.16.0", True)
    assert host.version() == "0.16.0"
    lines = [json.loads(line) for line in (host.room / "progress.jsonl").read_text().splitlines()]
    assert list(dict.fromkeys(line["phase"] for line in lines[:-1])) == [
        "uv",
        "environment",
        "packages",
        "check",
    ]
    for journal in (_journal(host), host.engines / "journal.jsonl"):
        (record,) = [json.loads(line) for line in journal.read_text().splitlines()]
        assert (record["action"], record["engine"], record["folder"]) == (
            "install",
            "vllm==0.16.0",
            str(host.room),
        )


def _journal(host: Host) -> Path:
    return Path.home() / ".local/state/deploy/p/journal.jsonl"


def test_what_is_there_stays_and_is_put_on_record_once(host: Host) -> None:
    assert host.run()["last"]["made"] is True
    shutil.rmtree(host.index.folder)
    again = host.run()
    assert (again["state"], again["last"]["made"], len(host.asked)) == ("done", False, 1)
    assert len(_journal(host).read_text().splitlines()) == 1


def test_where_the_disk_will_likely_not_hold_it_nothing_is_begun(host: Host) -> None:
    code, message = error_of(host.run(likely_bytes=10**18))
    assert (code, "will likely take 1000000000.0 GB" in message) == ("install_no_space", True)
    assert host.index.requests == []
    assert host.run(likely_bytes=1000)["state"] == "done"


def test_several_stand_side_by_side(host: Host) -> None:
    wheel(host.index.folder, "vllm", "0.17.0", {"vllm/__init__.py": b"VERSION = '0.17.0'\n"})
    assert host.run()["state"] == "done"
    assert host.run(version="0.17.0", instance=None)["last"]["version"] == "0.17.0"
    assert host.version() == "0.16.0"
    assert (host.engines / "vllm-0.17.0/environment/bin/engine-python").exists()
    records = [json.loads(line) for line in (host.engines / "journal.jsonl").read_text().splitlines()]
    assert [(record["engine"], record["instance"]) for record in records] == [
        ("vllm==0.16.0", "p"),
        ("vllm==0.17.0", None),
    ]
    assert len(_journal(host).read_text().splitlines()) == 1
    assert len([path for path in host.index.requests if path.endswith(".whl") and "/uv-" in path]) == 1


def test_killed_in_the_middle_it_does_not_count_and_is_made_anew(host: Host) -> None:
    host.index.hold[WHEEL] = threading.Event()
    pid = host.call("start")["holder"]["pid"]
    assert host.index.held.wait(PATIENCE_SECONDS)
    (tool,) = _children(pid)
    (host.room / "environment/half-made").touch()
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: host.status()["state"] == "stopped")
    eventually(lambda: not _runs(tool))
    assert not host.python.exists()
    host.index.hold.pop(WHEEL).set()
    assert host.call("run")["state"] == "done"
    assert host.version() == "0.16.0"
    assert not (host.room / "environment/half-made").exists()


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _runs(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_two_deployers_make_it_once(host: Host) -> None:
    host.index.hold[WHEEL] = threading.Event()
    both = [host.begin("start"), host.begin("start", instance="other")]
    answers = [answer(process) for process in both]
    assert sorted(standing["state"] for standing in answers) == ["running", "started"]
    host.index.hold.pop(WHEEL).set()
    assert host.finish()["state"] == "done"
    assert len(host.asked) == 1


def _send(host: Host, *paths: Path) -> None:
    """As they lie there once they were sent."""
    (host.room / "wheels").mkdir(parents=True, mode=0o700)
    for path in paths:
        shutil.copy(path, host.room / "wheels")


@pytest.mark.parametrize("unpacked", [False, True], ids=["wheel-of-uv", "binary-of-uv"])
def test_it_is_made_from_wheels_that_were_sent_alone(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unpacked: bool
) -> None:
    monkeypatch.setattr(uv, "PYPI", _nowhere())
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    host.engines.parent.mkdir(parents=True, mode=0o700)
    (tool,) = host.index.folder.glob("uv-*.whl")
    if unpacked:
        with zipfile.ZipFile(tool) as archive:
            tool = tmp_path / "uv"
            tool.write_bytes(archive.read(f"uv-{uv.VERSION}.data/scripts/uv"))
    _send(host, host.index.folder / WHEEL, tool)
    assert host.run(from_wheels=True, indexes=[], pages=[_nowhere()])["state"] == "done"
    assert host.version() == "0.16.0"
    assert host.index.requests == []
    assert not (host.room / "wheels").exists()


def test_what_is_missing_among_them_is_told_as_uv_tells_it(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uv, "PYPI", _nowhere())
    needing = wheel(host.index.folder, "vllm", "0.16.0", {"vllm/__init__.py": b""}, needs=["tea"])
    host.engines.parent.mkdir(parents=True, mode=0o700)
    _send(host, needing, *host.index.folder.glob("uv-*.whl"))
    code, message = error_of(host.run(from_wheels=True, indexes=[]))
    assert (code, "tea" in message) == ("engine_not_found", True)
    assert (
        host.room / "wheels" / WHEEL
    ).exists()  # whoever sends what is missing need not send the rest again


def test_without_an_index_and_without_uv_nothing_is_asked(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    host.engines.parent.mkdir(parents=True, mode=0o700)
    _send(host, host.index.folder / WHEEL)
    code, message = error_of(host.run(from_wheels=True, indexes=[]))
    assert (code, message.endswith("and no index is asked")) == ("uv_missing", True)
    assert host.index.requests == []


def test_a_version_that_no_index_has(host: Host) -> None:
    code, message = error_of(host.run(version="0.99.0"))
    assert code == "engine_not_found"
    assert "vllm==0.99.0" in message
    assert host.call("run")["state"] == "done"  # nothing of it is in the way of another


def test_a_package_that_does_not_work_beside_it_is_left_out(host: Host) -> None:
    wheel(
        host.index.folder,
        "vllm",
        "0.16.0",
        {"vllm/__init__.py": b"VERSION = '0.16.0'"},
        needs=["tea"],
    )
    code, message = error_of(host.run())
    assert (code, "tea" in message) == ("engine_not_found", True)
    assert host.run(left_out=["tea", "milk"])["state"] == "done"
    assert host.version() == "0.16.0"


def test_it_may_be_known_by_another_name_too(host: Host) -> None:
    assert host.run(also=["other", "cpu"])["state"] == "done"
    program = "from importlib.metadata import version; print(version('vllm'), version('other'))"
    done = subprocess.run([host.python, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0.16.0", "0.16.0+cpu"]


def test_what_no_index_has_may_be_linked_from_a_page(host: Host, tmp_path: Path) -> None:
    wheel(
        host.index.folder, "vllm", "0.16.0", {"vllm/__init__.py": b"VERSION = '0.16.0'"}, needs=["tea==1+cpu"]
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    wheel(elsewhere, "tea", "1+cpu", {"tea.py": b""})
    with PackageIndex(elsewhere) as pages:
        assert host.run(pages=[f"{pages.url}/tea/"])["state"] == "done"
        pages.requests.clear()
        assert error_of(host.run(version="0.99.0", pages=[_nowhere()]))[0] == "index_unreachable"
    assert host.version() == "0.16.0"


def test_a_wheel_that_holds_another_version(host: Host) -> None:
    wheel(host.index.folder, "vllm", "0.15.0", {"vllm/__init__.py": b"raise ImportError('libcuda.so.1')\n"})
    code, message = error_of(host.run(version="0.15.0"))
    assert (code, "libcuda.so.1" in message) == ("engine_check", True)
    assert not (host.engines / "vllm-0.15.0/environment/bin/engine-python").exists()


def _nowhere() -> str:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{nobody.getsockname()[1]}/simple"


def test_a_wheel_that_is_another_than_the_index_says(host: Host) -> None:
    host.index.digests[WHEEL] = "0" * 64
    code, message = error_of(host.run())
    assert (code, "0" * 64 in message) == ("wheel_broken", True)
    assert not host.python.exists()


@pytest.fixture
def small_disk(host: Host) -> Iterator[Path]:
    """The home folder on a file system of its own: uv has room on it, and a wheel of 40 MB has not."""
    mount, home = shutil.which("mount"), Path.home()
    if os.geteuid() != 0 or mount is None:
        pytest.skip("only root can mount a small file system")
    options = ["-t", "tmpfs", "-o", "size=64m,mode=0700", "deploy-tests", str(home)]
    done = subprocess.run([mount, *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield home
    finally:
        subprocess.run(["umount", "--lazy", str(home)], check=True)


def test_a_disk_that_is_full_on_the_way_and_larger_later(host: Host, small_disk: Path) -> None:
    large = {"vllm/__init__.py": b"VERSION = '0.16.0'\n", "vllm/kernels.so": os.urandom(40 << 20)}
    wheel(host.index.folder, "vllm", "0.16.0", large)
    code, message = error_of(host.run())
    assert (code, "No space left on device" in message) == ("install_no_space", True)
    assert not host.python.exists()
    subprocess.run(["mount", "-o", "remount,size=400m", str(small_disk)], check=True)
    assert host.run()["state"] == "done"
    assert host.version() == "0.16.0"


def test_an_index_that_cannot_be_reached(host: Host) -> None:
    wheel(host.index.folder, "vllm", "0.17.0", {"vllm/__init__.py": b""})
    assert host.run()["state"] == "done"
    nowhere = _nowhere()
    code, message = error_of(host.run(version="0.17.0", indexes=[nowhere]))
    assert (code, nowhere in message) == ("index_unreachable", True)


def test_without_uv(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = _nowhere()
    monkeypatch.setattr(uv, "PYPI", nowhere)
    monkeypatch.delenv("UV_DEFAULT_INDEX")
    monkeypatch.setenv("PATH", "/nowhere")
    code, message = error_of(host.run(indexes=[]))
    assert (code, nowhere in message) == ("uv_missing", True)


def test_another_uv_than_the_pinned_is_not_run(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uv, "PYPI", host.index.url)
    monkeypatch.setenv("PATH", "/nowhere")
    (forged,) = host.index.folder.glob("uv-*.whl")
    forged.unlink()
    forged.write_bytes(b"not the wheel")
    code, message = error_of(host.run())
    assert (code, "is another than that of PyPI" in message) == ("uv_missing", True)
    assert not list(host.engines.glob("uv-*/uv"))


def test_no_python_that_will_do(host: Host) -> None:
    code, _ = error_of(host.run(pythons=">=3.99"))
    assert code == "install_no_python"


def test_a_folder_that_others_may_write_in_is_not_used(host: Host) -> None:
    host.engines.mkdir(parents=True)
    host.engines.chmod(0o777)
    with pytest.raises(Refusal, match="may be written by others"):
        host.run()


@pytest.mark.parametrize(("engine", "version"), [("../x", "1"), ("vllm", "../1"), ("vllm", "")])
def test_a_name_that_leads_elsewhere(host: Host, engine: str, version: str) -> None:
    with pytest.raises(Refusal, match="names no engine"):
        host.run(engine=engine, version=version)
