"""What may be taken away, judged on values; and that nothing else goes with it, on real folders."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.on_host.files import trusted
from orchestrator.on_host.removing import candidate as judging
from orchestrator.on_host.removing import removal, way
from orchestrator.on_host.removing.candidate import Candidate

ME, OTHER = 1000, 1001
FILE = Candidate("file", ME, ME, 0o755)
FOLDER = replace(FILE, kind="folder")


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        (FILE, None),
        (FOLDER, None),
        (replace(FILE, kind="link"), None),
        (replace(FILE, kind="other"), "it is neither a file nor a folder"),
        (replace(FILE, uid=OTHER), "it is owned by 1001"),
        (replace(FILE, kind="link", uid=OTHER), "it is owned by 1001"),
        (replace(FILE, room_uid=0), "it lies in a folder of root"),
        (replace(FILE, room_uid=0, room_mode=0o777 | stat.S_ISVTX), None),
        (replace(FILE, uid=OTHER, room_uid=0, room_mode=0o777 | stat.S_ISVTX), "it is owned by 1001"),
        (replace(FOLDER, mounted=True), "something is mounted there"),
        (
            replace(FOLDER, network=True),
            "it lies on a network file system, where another machine may use it",
        ),
        (replace(FOLDER, holds="/home/me"), "it holds /home/me"),
        (replace(FOLDER, shared=True), "others may write in it"),
        (replace(FOLDER, strangers=frozenset({ME, OTHER, 0})), "it holds files of root, 1001"),
        (replace(FOLDER, unseen=True), "it cannot be looked through"),
        (replace(FILE, others=("/a/b", "/c")), "/a/b leads to it as well"),
        (replace(FILE, users=(2**22 + 1,)), f"a running process uses it: pid {2**22 + 1}"),
    ],
)
def test_reason_to_keep(candidate: Candidate, reason: str | None) -> None:
    assert judging.reason_to_keep(candidate, {ME}) == reason


def test_a_consent_lets_go_what_the_folders_owner_has(tmp_path: Path) -> None:
    assert judging.reason_to_keep(replace(FILE, uid=OTHER, room_uid=OTHER), {ME, OTHER}) is None
    assert judging.reason_to_keep(replace(FILE, uid=1002, room_uid=OTHER), {ME, OTHER})


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    made = tmp_path / "room"
    made.mkdir()
    return made


def tree(folder: Path) -> Path:
    (folder / "deep/er").mkdir(parents=True)
    (folder / "deep/er/file").write_text("x")
    return folder


def test_a_link_goes_and_what_it_leads_to_stays(room: Path, tmp_path: Path) -> None:
    tree(tmp_path / "precious")
    (room / "link").symlink_to(tmp_path / "precious")
    assert removal.take(str(room), "link") is None
    assert not (room / "link").is_symlink()
    assert (tmp_path / "precious/deep/er/file").exists()


def test_links_in_a_folder_go_and_what_they_lead_to_stays(room: Path, tmp_path: Path) -> None:
    tree(tmp_path / "precious")
    cache = tree(room / "cache")
    (cache / "deep/link").symlink_to(tmp_path / "precious")
    os.link(tmp_path / "precious/deep/er/file", cache / "hard")
    assert removal.take(str(room), "cache") is None
    assert list(room.iterdir()) == []
    assert (tmp_path / "precious/deep/er/file").read_text() == "x"


@pytest.mark.parametrize("below", ["link/deep/er/file", "link/deep"])
def test_no_link_on_the_way_is_followed(room: Path, tmp_path: Path, below: str) -> None:
    tree(tmp_path / "precious")
    (room / "link").symlink_to(tmp_path / "precious")
    assert removal.take(str(room), below) == f"it is reached through the link {room / 'link'}"
    assert way.files(str(room), below) == {}
    assert (tmp_path / "precious/deep/er/file").exists()


def test_the_base_may_be_a_link(room: Path, tmp_path: Path) -> None:
    """It is where the person, or a variable of theirs, leads."""
    tree(room / "cache")
    (tmp_path / "named").symlink_to(room)
    assert removal.take(str(tmp_path / "named"), "cache") is None
    assert list(room.iterdir()) == []


@pytest.mark.parametrize("below", ["../room", "a/../b", "", "a//b", "/etc", "."])
def test_no_way_leads_out(room: Path, below: str) -> None:
    (room / "b").touch()
    assert removal.take(str(room), below) == f"it leads out of {room}"


def test_what_is_not_there(room: Path) -> None:
    for below in ("none", "none/deeper"):
        with pytest.raises(FileNotFoundError):
            removal.take(str(room), below)


def test_a_pipe_stays(room: Path) -> None:
    os.mkfifo(room / "pipe")
    assert removal.take(str(room), "pipe") == "it is neither a file nor a folder"


@pytest.mark.parametrize(("mode", "goes"), [(0o755, True), (0o700, True), (0o757, False)])
def test_a_folder_in_which_others_write_stays(room: Path, mode: int, goes: bool) -> None:
    tree(room / "cache").chmod(mode)
    reason = removal.take(str(room), "cache")
    assert reason == (None if goes else "others may write in it")
    assert (room / "cache").exists() is not goes


def test_a_group_of_its_own_is_nobody_else(room: Path) -> None:
    """The usual umask of many distributions is 002, with a group of the user's own."""
    folder = tree(room / "cache")
    folder.chmod(0o775)
    status = folder.stat()
    expected = "others may write in it" if trusted.open_to_others(status) else None
    assert removal.take(str(room), "cache") == expected


def test_a_folder_that_holds_the_home_or_the_checkpoint_stays(
    room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    assert removal.take(str(tmp_path.parent), tmp_path.name) == f"it holds {tmp_path / 'home'}"
    model = tree(room / "cache") / "deep"
    assert removal.take(str(room), "cache", spare=[str(model)]) == f"it holds {model}"
    monkeypatch.setenv("HOME", str(room / "cache" / ".."))
    assert removal.take(str(room), "cache", spare=["~/cache/deep"]) == f"it holds {model}"
    assert (model / "er/file").exists()


def test_mounts_are_read_as_the_kernel_writes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        rb"22 1 0:20 / /proc rw - proc proc rw" + b"\n" + rb"36 35 98:0 / /mnt/with\040blank rw - ext3 x rw"
    )
    monkeypatch.setattr(judging.procs, "read_bytes", lambda _: text)
    assert judging.mounts() == {"/proc": "proc", "/mnt/with blank": "ext3"}


def test_a_folder_in_which_something_is_mounted_stays(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tree(room / "cache")
    monkeypatch.setattr(judging, "mounts", lambda: {str(cache / "deep"): "ext4"})
    assert removal.take(str(room), "cache") == "something is mounted there"


@pytest.mark.parametrize(
    ("mounted", "stays"),
    [({}, False), ({"ROOM": "nfs4"}, True), ({"PARENT": "lustre", "ROOM": "xfs"}, False)],
)
def test_what_has_to_be_local_stays_where_other_machines_see_it(
    room: Path, monkeypatch: pytest.MonkeyPatch, mounted: dict[str, str], stays: bool
) -> None:
    names = {"ROOM": str(room), "PARENT": str(room.parent)}
    monkeypatch.setattr(
        judging, "mounts", lambda: {"/": "ext4", **{names[one]: kind for one, kind in mounted.items()}}
    )
    for name in ("cache", "other"):
        tree(room / name)
    reason = removal.take(str(room), "cache", local=True)
    assert bool(reason and "network file system" in reason) is stays
    assert removal.take(str(room), "other") is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_other_owners_on_a_real_file_system(room: Path) -> None:
    os.chown(tree(room / "cache") / "deep/er/file", OTHER, OTHER)
    assert removal.take(str(room), "cache") == f"it holds files of {OTHER}"
    (room / "link").symlink_to("cache")
    os.lchown(room / "link", OTHER, OTHER)
    assert removal.take(str(room), "link") == f"it is owned by {OTHER}"
    (room / "theirs").mkdir()
    (room / "theirs/ours").touch()
    os.chown(room / "theirs", OTHER, OTHER)
    assert removal.take(str(room), "theirs/ours") == f"it lies in a folder of {OTHER}"
    (room / "theirs").chmod(0o1777)
    assert removal.take(str(room), "theirs/ours") is None


def test_only_the_file_that_is_meant_goes(room: Path) -> None:
    (room / "a").touch()
    (room / "b").touch()
    status = (room / "b").stat()
    assert removal.take(str(room), "a", expect=(status.st_dev, status.st_ino)) == removal._CHANGED
    assert removal.take(str(room), "b", expect=(status.st_dev, status.st_ino)) is None
    assert os.listdir(room) == ["a"]


def test_what_is_swapped_while_it_is_judged_stays(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (room / "file").write_text("judged")

    def swap(*_: object) -> None:
        (room / "file").rename(room / "away")
        (room / "file").write_text("precious")

    monkeypatch.setattr(judging, "reason_to_keep", swap)
    assert removal.take(str(room), "file") == removal._CHANGED
    assert (room / "file").read_text() == "precious"


@pytest.mark.parametrize("at", ["rename", "fwalk"])
def test_a_folder_that_is_swapped_while_it_goes_stays(
    room: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """Where others may write in the room as well, they may put a third one's folder in the place of what is removed."""
    tree(room / "cache")
    precious = tree(room / "precious")
    aside = room / f"cache{removal.ASIDE}-{os.getpid()}"
    real = getattr(os, at)

    def swap(*args: object, **options: object) -> object:
        done = real(*args, **options) if at == "rename" else None
        if aside.exists() and precious.exists():
            Path.replace(aside, room / "away")
            Path.replace(precious, aside)
        return done if at == "rename" else real(*args, **options)

    monkeypatch.setattr(os, at, swap)
    reason = removal.take(str(room), "cache")
    assert reason == (removal._CHANGED if at == "rename" else None)
    left = room / "cache" if at == "rename" else aside
    assert (left / "deep/er/file").exists()


def test_a_folder_that_is_used_is_named_with_its_user(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree(room / "cache") / "deep")
    reason = removal.take(str(room), "cache")
    assert reason is not None
    assert f"a running process uses it: pid {os.getpid()} (" in reason


def test_what_an_ended_removal_left_is_swept(room: Path) -> None:
    tree(room / f"cache{removal.ASIDE}-7")
    tree(room / f"cache{removal.ASIDE}-notes")
    removal.sweep(str(room), "cache")
    assert os.listdir(room) == [f"cache{removal.ASIDE}-notes"]


def test_what_a_user_may_not_remove_is_told(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (room / "file").touch()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")  # as of a file that chattr made immutable

    monkeypatch.setattr(os, "unlink", refuse)
    assert removal.take(str(room), "file") == "Operation not permitted"
