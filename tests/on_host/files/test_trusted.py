"""In whose group is nobody else?"""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Iterable
from pathlib import Path

import pytest

from orchestrator.on_host.files import trusted

ME, BOB = 1000, 1001


def account(name: str, uid: int, gid: int) -> pwd.struct_passwd:
    return pwd.struct_passwd((name, "x", uid, gid, "", f"/home/{name}", "/bin/sh"))


def group(name: str, gid: int, *members: str) -> grp.struct_group:
    return grp.struct_group((name, "x", gid, list(members)))


ROOT = account("root", 0, 0)


@pytest.mark.parametrize(
    ("accounts", "groups", "gid", "services", "alone"),
    [
        ([account("me", ME, ME)], [group("me", ME)], ME, "passwd: files sss", True),
        ([account("me", ME, ME)], [group("me", ME, "me")], ME, "passwd: files", True),
        ([account("me", ME, ME)], [group("me", ME, "bob")], ME, "passwd: files", False),
        # an image of Jupyter's: /home/jovyan is 2775 jovyan:users
        ([account("jovyan", ME, 100)], [group("users", 100)], 100, "passwd: files systemd", True),
        ([account("jovyan", ME, 100)], [group("users", 100)], 100, None, True),
        ([account("jovyan", ME, 100)], [group("users", 100)], 100, "passwd: files sss", False),
        ([account("jovyan", ME, 100)], [group("users", 100)], 100, "passwd: files\ngroup: files ldap", False),
        ([account("jovyan", ME, 100)], [group("users", 100, "bob")], 100, "passwd: files", False),
        ([account("me", ME, 100), account("bob", BOB, 100)], [group("users", 100)], 100, "passwd: files", False),
        # a container that was started with a user nobody has listed
        ([], [group("users", ME)], ME, "passwd: files", True),
        ([account("bob", BOB, ME)], [group("users", ME)], ME, "passwd: files", False),
        # files of a server that knows the group, while we do not
        ([account("me", ME, ME)], [], ME, "passwd: files", False),
        ([], [group("root", 0, "root")], 0, "passwd: files", True),
    ],
)  # fmt: skip
def test_a_group_in_which_nobody_else_is(
    accounts: Iterable[pwd.struct_passwd],
    groups: Iterable[grp.struct_group],
    gid: int,
    services: str | None,
    alone: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    by_uid = {one.pw_uid: one for one in (ROOT, *accounts)}
    by_gid = {one.gr_gid: one for one in groups}
    monkeypatch.setattr(pwd, "getpwuid", by_uid.__getitem__)
    monkeypatch.setattr(pwd, "getpwall", lambda: list(by_uid.values()))
    monkeypatch.setattr(grp, "getgrgid", by_gid.__getitem__)
    if services is not None:
        (tmp_path / "nsswitch.conf").write_text(f"# passwd: ldap\n{services}\n")
    monkeypatch.setattr(trusted, "_NAME_SERVICES", str(tmp_path / "nsswitch.conf"))
    status = os.stat_result((0o042775, 1, 1, 1, ME, gid, 0, 0, 0, 0))
    assert trusted.open_to_others(status) is not alone
