"""What is cleaned on request: caches that fill again and lock files of nobody; what is in use stays."""

from __future__ import annotations

import fcntl
import mmap
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from orchestrator.engines.vllm.footprint import FOOTPRINT
from orchestrator.on_host.footprint import CachePlace, Footprint
from orchestrator.on_host.processes import gpu_memory
from orchestrator.on_host.programs import cleanup
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.removing import caches, removal
from tests.on_host.conftest import Deployments
from tests.waiting import eventually

OF_ENGINES = {"footprint": asdict(FOOTPRINT), "engines": [asdict(FOOTPRINT)]}
REQUEST = {
    "instance": "kimi-k2.5",
    "folder": "/nonexistent",
    "environment": {},
    "seconds": 60.0,
    **OF_ENGINES,
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "torchinductor"))
    kept = ("HOME", "TORCHINDUCTOR_CACHE_DIR")
    for name in (
        "XDG_STATE_HOME",
        *(one for one in (*caches.VARIABLES, *FOOTPRINT.variables) if one not in kept),
    ):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds


def clean(
    *names: str, folder: Path | None = None, environment: dict[str, str] | None = None
) -> dict[str, Any]:
    where = {"folder": str(folder or "/nonexistent"), "environment": environment or {}}
    return cleanup.main({**REQUEST, "names": list(names), **where})


def compiled(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "artifact.so").write_bytes(b"x" * 4096)
    return folder


def test_compiled_kernels_go_and_nothing_beside_them(home: Path) -> None:
    vllm = compiled(home / ".cache/vllm/torch_compile_cache")
    triton = compiled(home / ".triton/cache")
    other = compiled(home / ".cache/vllm/assets")
    done = clean("compile_cache")["compile_cache"]
    assert (sorted(done["removed"]), done["kept"]) == (sorted([str(vllm), str(triton)]), [])
    assert other.is_dir()
    assert [path.name for path in (home / ".cache/vllm").iterdir()] == ["assets"]
    assert clean("compile_cache")["compile_cache"] == {"removed": [], "kept": []}


def test_the_cache_is_where_the_engine_is_told_to_keep_it(home: Path) -> None:
    told = compiled(home / "fast/torch_compile_cache")
    usual = compiled(home / ".cache/vllm/torch_compile_cache")
    done = clean("compile_cache", environment={"VLLM_CACHE_ROOT": str(home / "fast")})["compile_cache"]
    assert done["removed"] == [str(told)]
    assert usual.is_dir()


def test_a_cache_that_a_process_uses_stays(home: Path) -> None:
    folder = compiled(home / ".cache/vllm/torch_compile_cache")
    with open(folder / "artifact.so", "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ):
        done = clean("compile_cache")["compile_cache"]
    assert [one["path"] for one in done["kept"]] == [str(folder)]
    assert "uses it" in done["kept"][0]["reason"]
    assert (folder / "artifact.so").exists()


@pytest.mark.parametrize("led", ["", "elsewhere"])
def test_the_cache_of_an_engine_that_is_just_starting_stays(home: Path, led: str) -> None:
    """It has nothing open there yet: what it compiles is written file by file, and loaded later."""
    folder = compiled(home / ".cache/vllm/torch_compile_cache")
    program = "import sys; print(flush=True); sys.stdin.read()"
    engine = subprocess.Popen(
        [sys.executable, "-c", program, "vllm.entrypoints.openai.api_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"HOME": str(home / led), "TMPDIR": str(home)},
    )
    assert engine.stdout is not None
    engine.stdout.readline()
    try:
        done = clean("compile_cache")["compile_cache"]
    finally:
        engine.communicate(b"")
    if led:
        assert done["removed"] == [str(folder)]
    else:
        reason = f"the engine of pid {engine.pid} keeps what it compiles there"
        assert done == {"removed": [], "kept": [{"path": str(folder), "reason": reason}]}


def test_a_cache_is_shared_with_living_engines_of_other_kinds(home: Path) -> None:
    folder = compiled(home / ".triton/cache")
    own = compiled(home / ".tgi/kernels")
    kind = Footprint("tgi-server", "/tgi/", (), (FOOTPRINT.caches[3], (CachePlace("home", ".tgi/kernels"),)))
    asked = {**REQUEST, "names": ["compile_cache"], "footprint": asdict(kind)}
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()", "vllm.entrypoints.openai"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"HOME": str(home)},
    ) as engine:
        assert engine.stdout is not None
        engine.stdout.readline()
        done = cleanup.main(asked)["compile_cache"]
        engine.communicate()
    reason = f"the engine of pid {engine.pid} keeps what it compiles there"
    assert done == {"removed": [str(own)], "kept": [{"path": str(folder), "reason": reason}]}


def test_what_a_cleaning_that_was_ended_left_goes_too(home: Path) -> None:
    compiled(home / f".cache/vllm/torch_compile_cache{removal.ASIDE}-7")
    clean("compile_cache")
    assert list((home / ".cache/vllm").iterdir()) == []


def test_the_launchs_own_environment_tells_where_its_caches_are(
    home: Path, deployments: Deployments, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen: a rehearsal whose TMPDIR was its own removed the user's real torchinductor_USER."""
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR")
    monkeypatch.setenv("LOGNAME", "me")
    for name in ("tmp", "other", "home"):
        (home / name).mkdir()
    own = compiled(home / "tmp/torchinductor_me")
    dropped = compiled(home / "dropped/torch_compile_cache")
    real = [compiled(home / place) for place in ("other/torchinductor_me", ".triton/cache")]
    monkeypatch.setenv("TMPDIR", str(home / "tmp"))
    monkeypatch.setenv("VLLM_CACHE_ROOT", str(home / "dropped"))
    set_for_it = {"HOME": str(home / "home")}
    one = deployments.launch(["/bin/true"], environment=set_for_it, unset=["VLLM_CACHE_ROOT"])
    eventually(lambda: one.exit_code() == 0)
    monkeypatch.setenv("TMPDIR", str(home / "other"))
    done = cleanup.main({**REQUEST, "instance": "tiny", "names": ["compile_cache"]})["compile_cache"]
    assert done == {"removed": [str(own)], "kept": []}
    assert all(folder.is_dir() for folder in (*real, dropped))


def test_a_cache_that_is_a_link_stays(home: Path) -> None:
    elsewhere = compiled(home / "elsewhere")
    (home / ".triton").mkdir()
    (home / ".triton/cache").symlink_to(elsewhere)
    (home / ".cache").mkdir()
    compiled(home / "shared/torch_compile_cache")
    (home / ".cache/vllm").symlink_to(home / "shared")
    done = clean("compile_cache")["compile_cache"]
    assert done["removed"] == [str(home / ".triton/cache")]  # the link alone
    assert {one["reason"] for one in done["kept"]} == {
        f"it is reached through the link {home / '.cache/vllm'}"
    }
    assert (elsewhere / "artifact.so").exists()
    assert (home / "shared/torch_compile_cache/artifact.so").exists()


def test_of_a_folder_that_a_variable_names_only_the_cache_goes(home: Path) -> None:
    """Somebody set TRITON_CACHE_DIR to a folder that holds other things as well."""
    entry = compiled(home / "work" / ("A" * 52))
    thesis = compiled(home / "work/thesis")
    done = clean("compile_cache", environment={"TRITON_CACHE_DIR": str(home / "work")})["compile_cache"]
    assert done == {"removed": [str(entry)], "kept": []}
    assert (thesis / "artifact.so").exists()


def test_what_was_fetched_stays_beside_what_was_compiled(home: Path) -> None:
    cubins = compiled(home / ".cache/flashinfer/cubins")
    jit = compiled(home / ".cache/flashinfer/0.6.1")
    assert clean("compile_cache")["compile_cache"]["removed"] == [str(jit)]
    assert (cubins / "artifact.so").exists()


def test_lock_files_of_a_cache_that_the_environment_names(home: Path) -> None:
    for name in ("hub", "usual/hub"):
        (home / name / ".locks/models--a--b").mkdir(parents=True)
        (home / name / ".locks/models--a--b/f.lock").touch()
    told = {"HF_HOME": str(home / "usual"), "HF_HUB_CACHE": str(home / "hub")}
    done = clean("stale_lock", environment=told)["stale_lock"]
    assert done["removed"] == [str(home / "hub/.locks/models--a--b/f.lock")]


def test_lock_files_behind_links_and_of_other_machines_stay(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.lock").touch()
    room = tmp_path / "model/.cache/huggingface/download"
    room.mkdir(parents=True)
    (room / "sub").symlink_to(elsewhere)
    (room / "soft.lock").write_text("77\nanother-machine\n")
    done = clean("stale_lock", folder=tmp_path / "model")["stale_lock"]
    assert done["removed"] == []
    assert [one["reason"] for one in done["kept"]] == ["pid 77 on another-machine may hold it"]
    assert (elsewhere / "a.lock").exists()


def test_a_lock_file_that_nobody_holds_goes(home: Path, tmp_path: Path) -> None:
    held, free = (tmp_path / "model/.cache/huggingface/download" / name for name in ("a.lock", "b.lock"))
    held.parent.mkdir(parents=True)
    for lock in (held, free):
        lock.touch()
    with open(held, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = clean("stale_lock", folder=tmp_path / "model")["stale_lock"]
    assert done["removed"] == [str(free)]
    assert [one["path"] for one in done["kept"]] == [str(held)]
    assert held.exists()


def test_memory_that_is_being_given_back_is_waited_for(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleanup, "time", Clock())
    left = [{"a": used} for used in (9000, 9000, 4000, 4000, 100)]
    monkeypatch.setattr(gpu_memory, "used", lambda: left.pop(0) if len(left) > 1 else left[0])
    process = {"gpu_uuid": "a", "pid": 7, "name": "python", "memory_mib": 100}
    monkeypatch.setattr(gpu_memory, "holders", lambda: [{**process, "user": "eve", "command": "python x"}])
    done = clean("gpu_memory_wait")["gpu_memory_wait"]
    assert done["used_mib"] == {"a": 100}
    assert done["holders"][0]["user"] == "eve"


@pytest.mark.parametrize(
    ("used", "at_most", "seconds"),
    [
        ([100], {"a": 200}, 0.0),
        ([20000] * 6 + [100], {"a": 200}, 3.0),  # somebody who was ending all the same
        ([20000] * 6 + [9000, 8000], {"a": 200}, 8.5),
        ([20000], {"a": 200}, 5.0),  # nothing comes: who holds it keeps it
        ([20000], {"b": 200}, 0.0),  # on a card that is not meant
        ([100], {}, 5.0),
    ],
)
def test_the_wait_ends_with_room_or_when_nothing_comes(
    home: Path, monkeypatch: pytest.MonkeyPatch, used: list[int], at_most: dict[str, int], seconds: float
) -> None:
    monkeypatch.setattr(cleanup, "time", Clock())
    left = list(used)
    monkeypatch.setattr(gpu_memory, "used", lambda: {"a": left.pop(0) if len(left) > 1 else left[0]})
    monkeypatch.setattr(gpu_memory, "holders", list)
    request = {**REQUEST, "names": ["gpu_memory_wait"], "folder": "/nonexistent", "environment": {}}
    done = cleanup.main({**request, "gpu_at_most_mib": at_most})["gpu_memory_wait"]
    back = used[-1] < used[0]
    assert done == {"seconds": seconds, "used_mib": {"a": used[-1]}, "holders": [], "given_back": back}


def test_without_nvidia_smi_there_is_no_answer(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_memory, "used", lambda: None)
    assert clean("gpu_memory_wait") == {"gpu_memory_wait": None}


def test_it_is_on_record(home: Path) -> None:
    clean("compile_cache")
    journal = home / ".local/state/deploy/kimi-k2.5/journal.jsonl"
    assert '"action":"clean"' in journal.read_text()


def test_an_unknown_name_is_refused(home: Path) -> None:
    with pytest.raises(Refusal):
        clean("everything")
