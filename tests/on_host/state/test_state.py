"""Where the state lies, who may write there, and what is read of it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from orchestrator.on_host.files import trusted
from orchestrator.on_host.kinds import launches
from orchestrator.on_host.programs import lock, observe
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.state import state
from tests.odd_files import UNREADABLE, put
from tests.ports import free_port

NOBODY = 65534


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "home").mkdir(mode=0o700)
    return tmp_path / "home"


@pytest.fixture
def folder() -> Path:
    return state.state_folder("p")


def refused(playbook: str = "p") -> str:
    """What is said by whoever looks and by whoever writes."""
    said = set()
    for find in (state.known_folder, state.state_folder):
        with pytest.raises(Refusal) as no:
            find(playbook)
        assert no.value.code == "state_folder"
        said.add(no.value.sentence)
    (sentence,) = said
    return sentence


class TestWhere:
    def test_it_is_made_for_this_user_alone(self, tmp_path: Path, folder: Path) -> None:
        assert folder == tmp_path / "state" / "deploy" / "p"
        assert folder.stat().st_mode & 0o777 == 0o700

    def test_whoever_looks_makes_nothing(self, tmp_path: Path) -> None:
        assert state.known_folder("p") == tmp_path / "state" / "deploy" / "p"
        assert not (tmp_path / "state").exists()

    @pytest.mark.parametrize("configured", ["", "relative", "~/state", "./x"])
    def test_the_home_folder_counts_where_no_absolute_path_is_set(
        self, home: Path, monkeypatch: pytest.MonkeyPatch, configured: str
    ) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", configured)
        assert state.known_folder("p") == home / ".local" / "state" / "deploy" / "p"

    def test_a_line_end_in_the_path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", f"{tmp_path}/a\nb")
        assert state.state_folder("p").is_dir()

    def test_no_home_folder(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("XDG_STATE_HOME")
        monkeypatch.setenv("HOME", "of/nobody")
        assert refused() == f"uid {os.geteuid()} has no home folder; set XDG_STATE_HOME"

    @pytest.mark.parametrize("kind", ["pipe", "device", "loop"])
    def test_a_place_where_no_folder_can_be(self, tmp_path: Path, kind: str) -> None:
        put(tmp_path / "state", kind)
        with pytest.raises(Refusal) as no:
            state.state_folder("p")
        assert no.value.code == "state_folder"
        assert state.records(tmp_path / "state" / "deploy" / "p") == []


class TestOthers:
    """As sshd asks of ~/.ssh."""

    @pytest.mark.parametrize("mode", [0o777, 0o707, 0o703])
    @pytest.mark.parametrize("part", ["", "..", "../.."])
    def test_a_folder_that_others_may_write(self, folder: Path, part: str, mode: int) -> None:
        path = (folder / part).resolve()
        path.chmod(mode)
        assert refused() == (
            f"no state is kept in {folder}: {path} may be written by others (mode {mode:04o}); chmod go-w takes that away"
        )

    def test_a_group_of_others(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder.chmod(0o770)
        monkeypatch.setattr(trusted, "_own_group", lambda status: False)
        monkeypatch.setattr(trusted, "_closed_to_others", lambda status: False)  # pytest's own folders are
        assert f"{folder} may be written by others (mode 0770)" in refused()

    def test_a_group_that_may_not_enter(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(trusted, "_own_group", lambda status: False)
        folder.parent.chmod(0o775)
        folder.chmod(0o775)
        tmp_path.chmod(0o700)
        assert state.known_folder("p") == folder
        folder.chmod(0o777)
        assert f"{folder} may be written by others" in refused()

    @pytest.mark.parametrize("umask", [0o002, 0o000])
    def test_what_was_made_is_trusted_the_next_time(
        self, home: Path, monkeypatch: pytest.MonkeyPatch, umask: int
    ) -> None:
        monkeypatch.setattr(trusted, "_own_group", lambda status: False)
        monkeypatch.setattr(trusted, "_closed_to_others", lambda status: False)
        monkeypatch.delenv("XDG_STATE_HOME")
        before = os.umask(umask)
        try:
            folder = state.state_folder("p")
        finally:
            os.umask(before)
        assert state.state_folder("p") == folder
        assert {path.stat().st_mode & 0o777 for path in home.rglob("*")} == {0o700}

    def test_the_group_that_a_user_has_for_itself(self, folder: Path) -> None:
        folder.chmod(0o775)
        assert trusted._own_group(folder.stat()) == (trusted.objection(folder) is None)

    def test_a_sticky_folder_on_the_way_keeps_names_from_others(self, folder: Path) -> None:
        folder.parent.chmod(0o1777)
        assert state.known_folder("p") == folder
        folder.chmod(0o1777)
        assert "may be written by others (mode 1777)" in refused()

    def test_readable_is_no_objection(self, folder: Path) -> None:
        folder.chmod(0o755)
        assert state.known_folder("p") == folder

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
    @pytest.mark.parametrize("part", ["", "..", "../.."])
    def test_a_folder_of_another_user(self, folder: Path, part: str) -> None:
        path = (folder / part).resolve()
        os.chown(path, NOBODY, NOBODY)
        assert f"{path} belongs to nobody (uid {NOBODY}), not to root (uid 0)" in refused()

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
    def test_a_link_to_another_users_place(self, tmp_path: Path, folder: Path) -> None:
        shutil.rmtree(folder)
        theirs = tmp_path / "theirs"
        theirs.mkdir()
        os.chown(theirs, NOBODY, NOBODY)
        folder.symlink_to(theirs)
        assert f"{theirs} belongs to nobody" in refused()

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link away")
    def test_a_link_that_another_user_made(self, tmp_path: Path, folder: Path) -> None:
        shutil.move(folder, tmp_path / "mine")
        folder.symlink_to(tmp_path / "mine")
        assert state.known_folder("p") == folder
        os.lchown(folder, NOBODY, NOBODY)
        assert f"{folder}, a link, belongs to nobody" in refused()

    def test_a_link_to_what_others_may_write(self, tmp_path: Path, folder: Path) -> None:
        folder.rmdir()
        (tmp_path / "open").mkdir()
        (tmp_path / "open").chmod(0o777)
        (tmp_path / "open" / "mine").mkdir()
        folder.symlink_to(tmp_path / "open" / "mine")
        assert f"{tmp_path / 'open'} may be written by others" in refused()

    def test_what_lies_above_the_home_folder_is_the_administrators(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("XDG_STATE_HOME")
        home.parent.chmod(0o777)
        try:
            assert state.state_folder("p").is_dir()
            home.chmod(0o777)
            assert f"{home} may be written by others" in refused()
        finally:
            home.parent.chmod(0o700)


class TestFiles:
    @pytest.mark.parametrize("name", ["journal.jsonl", "work", "lock"])
    @pytest.mark.parametrize("kind", sorted(UNREADABLE.keys() - {"missing"}))
    def test_what_is_no_file_is_neither_waited_for_nor_written_through(
        self, folder: Path, name: str, kind: str
    ) -> None:
        put(folder / name, kind)
        with pytest.raises(Refusal) as no:
            os.close(state.opened(folder / name, os.O_RDWR))
        assert no.value.code == "state_folder"
        assert str(folder / name) in no.value.sentence
        assert not (folder / "nowhere").exists()

    def test_a_lock_that_is_a_folder(self, folder: Path) -> None:
        (folder / "lock").mkdir()
        with pytest.raises(Refusal, match="lock"):
            next(lock.main({"instance": "p", "patience_seconds": 0}))

    def test_a_note_in_the_lock_that_is_no_note(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / "lock").write_text("[1]")
        monkeypatch.setattr(lock, "_acquire", lambda *_: False)
        assert next(lock.main({"instance": "p", "patience_seconds": 0})) == {"held_by": {}}

    @pytest.mark.parametrize("kind", sorted(UNREADABLE.keys() - {"missing"}))
    def test_a_journal_that_cannot_be_read_is_not_an_empty_one(self, folder: Path, kind: str) -> None:
        put(folder / "journal.jsonl", kind)
        with pytest.raises(Refusal) as no:
            state.records(folder)
        assert (no.value.code, UNREADABLE[kind] in no.value.sentence) == ("state_folder", True)

    def test_a_journal_without_end(self, folder: Path) -> None:
        with (folder / "journal.jsonl").open("wb") as file:
            file.truncate(1 << 40)
        with pytest.raises(Refusal, match="is too large"):
            state.records(folder)

    def test_lines_that_are_no_records_are_left_out(self, folder: Path) -> None:
        lines = [
            b'{"action": "x"}',
            b"[1]",
            b"[" * 100_000,
            b"9" * 5000,
            b"\xff",
            b"null",
            b'{"action": 1e999}',
            b"{",
        ]
        (folder / "journal.jsonl").write_bytes(b"\n".join(lines))
        assert [record["action"] for record in state.records(folder)] == ["x", float("inf")]


RECORD = {"machine": state.machine_id(), "marker": "m", "boot_id": "b", "pid": 1, "start_time": 2}


class TestLaunches:
    @pytest.mark.parametrize(
        "record",
        [
            None,
            [],
            {**RECORD, "marker": None},
            {**RECORD, "marker": ""},
            {**RECORD, "marker": ["m"]},
            {**RECORD, "boot_id": 3},
            {key: value for key, value in RECORD.items() if key != "boot_id"},
        ],
    )
    def test_a_process_without_its_identity_is_no_launch(self, folder: Path, record: Any) -> None:
        write(folder / "launches" / "1" / "process.json", record)
        assert launches.load(folder, 1) is None
        assert launches.choose(folder, None, launches.table()) is None

    @pytest.mark.parametrize(
        "changed",
        [
            {"pid": "7", "start_time": 3.5},
            {"pid": True},
            {"pid": -1},
            {"pid": [1]},
            {"shm_before": "psm_x"},
            {"shm_before": [1, None]},
            {"started_at": ["now"]},
        ],
    )
    def test_other_values_are_taken_for_what_they_can_be(self, folder: Path, changed: dict[str, Any]) -> None:
        write(folder / "launches" / "1" / "process.json", {**RECORD, **changed})
        (folder / "launches" / "1" / "command.json").mkdir()
        os.mkfifo(folder / "launches" / "1" / "exit")
        seen = observe.main({"instance": "p", "port": free_port(), "health_path": "/health"})
        assert seen["launch"] == 1
        assert seen["command"] is None
        one = launches.load(folder, 1)
        assert one is not None
        assert one.pid in (None, 1)
        assert not one.shm_before("b")
        assert one.exit_code() is None

    @pytest.mark.parametrize(
        "command",
        [[], "x", {}, {"argv": "vllm"}, {"argv": [1]}, {"argv": [], "note": 3}, {"argv": [], "note": []}],
    )
    def test_a_command_that_is_none(self, folder: Path, command: Any) -> None:
        write(folder / "launches" / "1" / "process.json", RECORD)
        write(folder / "launches" / "1" / "command.json", command)
        one = launches.load(folder, 1)
        assert one is not None and one.command() is None

    @pytest.mark.parametrize(
        "place", [3, [], {}, {"host": 1, "port": 2, "model": "m"}, {"host": "h", "port": "2", "model": "m"},
                  {"host": "h", "port": 1 << 20, "model": "m"}, {"host": "h", "port": 2}]
    )  # fmt: skip
    def test_a_place_to_ask_that_is_none(self, place: Any) -> None:
        assert observe._place({"argv": [], "note": {"endpoint": place}}) is None

    def test_folders_that_are_no_launches(self, folder: Path) -> None:
        for name in ("0", "-1", "x", "²", "٣", "1" * 200, "7"):
            (folder / "launches" / name).mkdir(parents=True)
        assert launches.numbers(folder) == [7]


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
