"""A record of the journal as a value: kept as it was written, believed where it says what one of its action must."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.programs.journal import (
    ConsentRecord,
    JournalRecord,
    LaunchRecord,
    OutcomeRecord,
    PatchRecord,
    RevertRecord,
    StopRecord,
    UnreadableRecord,
    read,
)

STAMP = {"at": "2026-02-20T21:00:00.000+00:00", "machine": "m"}
WRITTEN: list[dict[str, Any]] = [
    {"action": "launch", "launch": 1, "playbook": None, "argv": ["x"], "environment": {"A": "1"}},
    {"action": "outcome", "launch": 1, "result": "failed", "cause": "ValueError: x", "finding": None},
    {
        "action": "patch",
        "patch": "p",
        "folder": "/m",
        "files": [{"name": "config.json", "before": "a", "after": "b", "symlink": None}],
        "flags": {"--x": None},
        "environment": {},
        "why": "finding",
        "way": "drop --x",
        "cause": "ValueError: x",
    },
    {"action": "revert", "patch": "p", "folder": "/m", "by_person": True, "forgotten": False},
    {"action": "stop", "launch": 1, "ended": [{"pid": 1, "name": "x"}], "left": [], "shm_removed": ["psm_a"]},
    {"action": "stop_failed", "launch": 1, "survivors": "pid 1 (x, state D)"},
    {"action": "clean", "what": {"gpu_memory_wait": None, "stale_lock": {"removed": ["/l"], "kept": []}}},
    {"action": "discard", "folder": "/m", "files": ["a"], "links": {}, "kept": [{"path": "/b", "reason": "r"}]},
    {"action": "consent", "consent": "trust-remote-code", "commit": None, "code": {"a.py": "0f"}},
    {"action": "install", "engine": "vllm==0.16.0", "folder": "/e/vllm-0.16.0", "python": "3.12.3"},
    {"action": "collective", "uuids": ["GPU-0", "GPU-1"], "driver": "580.95.05", "variables": {"NCCL_PROTO": "LL"}, "worth": "keep", "sentence": "x"},
    {"action": "of_the_future", "count": 3},
]  # fmt: skip


@pytest.mark.parametrize("record", WRITTEN, ids=lambda record: record["action"])
def test_a_record_is_kept_as_it_was_written(record: dict[str, Any]) -> None:
    value = read({**STAMP, **record})
    assert value.as_json() == {**STAMP, **record}
    assert not isinstance(value, UnreadableRecord)
    assert (type(value) is JournalRecord) == (record["action"] == "of_the_future")


@pytest.mark.parametrize("record", WRITTEN, ids=lambda record: record["action"])
def test_what_a_newer_release_says_besides_is_kept_and_counts_for_nothing(record: dict[str, Any]) -> None:
    newer = {**record, "why_so": {"of": ["the", 1]}, "model_config": 3, "copy": "x"}
    value, plain = read(newer), read(record)
    assert value.as_json() == newer
    fields = type(plain).model_fields
    assert {name: getattr(value, name) for name in fields} == {name: getattr(plain, name) for name in fields}


def test_a_file_of_a_newer_patch_may_say_more_too() -> None:
    file = {"name": "config.json", "before": "a", "after": "b", "mode": 420}
    patched = read({"action": "patch", "patch": "p", "folder": "/m", "files": [file]})
    assert isinstance(patched, PatchRecord)
    assert patched.as_json()["files"] == [file]


def test_a_record_of_our_own_says_what_it_was_given_and_its_action() -> None:
    record = OutcomeRecord(launch=2, result="healthy")
    assert record.as_json() == {"action": "outcome", "launch": 2, "result": "healthy"}
    assert read(record.as_json()).as_json() == record.as_json()


def test_an_older_release_does_not_say_everything() -> None:
    records = [
        read({"action": "launch", "launch": 3}),
        read({"action": "patch", "patch": "p", "folder": "/m"}),
        read({"action": "revert", "patch": "p"}),
        read({"action": "stop"}),
        read({"action": "consent", "consent": "linger"}),
    ]
    kinds = [LaunchRecord, PatchRecord, RevertRecord, StopRecord, ConsentRecord]
    assert [type(record) for record in records] == kinds


@pytest.mark.parametrize("broken", [None, 3, "launch", [], {}, {"action": None}, {"action": ["launch"]}])
def test_what_is_no_record_is_kept_as_it_stands_there(broken: Any) -> None:
    record = read(broken)
    assert isinstance(record, UnreadableRecord)
    assert (record.record, record.at, record.machine) == (broken, None, None)


def test_a_broken_record_tells_when_and_where_it_was_written() -> None:
    broken = {**STAMP, "action": "launch", "launch": "7"}
    assert read(broken).as_json() == {**STAMP, "action": "unreadable", "record": broken}


@pytest.mark.parametrize("name", ["a/b", "/a", "../a", "a/", "/", "a\n/b"])
def test_a_file_of_another_folder_is_no_file_of_a_patch(name: str) -> None:
    file = {"name": name, "before": "a", "after": "b"}
    assert isinstance(
        read({"action": "patch", "patch": "p", "folder": "/m", "files": [file]}), UnreadableRecord
    )


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("2026-02-20T21:00:00.000+00:00", True),
        ("2026-02-20T21:00:00", False),
        ("now", False),
        (3, False),
        (None, False),
    ],
)
def test_a_moment_without_its_zone_is_none(at: Any, told: bool) -> None:
    assert (read({"action": "launch", "launch": 1, "at": at}).moment is not None) == told
