"""What is cleaned on request: caches that fill again and lock files of nobody; what is in use stays."""

from __future__ import annotations

import fcntl
import mmap
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host import cleanup, gpu_memory
from orchestrator.on_host.refusal import Refusal


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "torchinductor"))
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "HF_HOME", "VLLM_CACHE_ROOT", "TRITON_CACHE_DIR"):
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
    request = {
        "playbook": "kimi-k2.5",
        "names": list(names),
        "folder": str(folder or "/nonexistent"),
        "environment": environment or {},
        "seconds": 60.0,
    }
    return cleanup.main(request)


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


def test_what_a_cleaning_that_was_ended_left_goes_too(home: Path) -> None:
    compiled(home / f".cache/vllm/torch_compile_cache{cleanup._REMOVED}-7")
    clean("compile_cache")
    assert list((home / ".cache/vllm").iterdir()) == []


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
    monkeypatch.setattr(gpu_memory, "holders", lambda: [{"pid": 7, "user": "eve", "command": "python x"}])
    done = clean("gpu_memory_wait")["gpu_memory_wait"]
    assert done["used_mib"] == {"a": 100}
    assert done["holders"][0]["user"] == "eve"


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
