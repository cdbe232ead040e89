"""What `--hosts` means: a group, a file, or a list."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from orchestrator.base.errors import UsageError
from orchestrator.hosts.inventory import group_names, listed

GROUPS = """\
hosts:
  rack1: ["gpu[1-3]"]
  rack2: [gpu4, root@gpu5:2222]
  all: [rack1, rack2, gpu1]
  login: [login]
"""


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's configuration, with groups in it; a list is read from the folder of the test."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "config" / "deploy" / "config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(GROUPS)
    return file


def test_a_group_has_the_hosts_of_groups_in_it_each_once() -> None:
    assert group_names() == ("rack1", "rack2", "all", "login")
    assert listed("all") == ("gpu1", "gpu2", "gpu3", "gpu4", "root@gpu5:2222")
    assert listed("login") == ("login",)


def test_a_file_has_a_host_or_range_a_line(tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text("# the new rack\ngpu[01-02]  # two\n\n  gpu09\ngpu01\r\n")
    assert listed("hosts.txt") == ("gpu01", "gpu02", "gpu09")
    (tmp_path / "more.yaml").write_text("hosts: {a: [x, y], b: [z, x]}")
    assert listed("more.yaml") == ("x", "y", "z")


def test_a_list_is_typed_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert listed("gpu[1-2],gpu9") == ("gpu1", "gpu2", "gpu9")
    monkeypatch.setattr("sys.stdin", io.StringIO("gpu3\ngpu4\n"))
    assert listed("-") == ("gpu3", "gpu4")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("hosts.txt", "gpu1\ngpu2 ansible_host=10.0.0.2\n", "hosts.txt:2: 'gpu2 ansible_host=10.0.0.2' is no host"),
        ("hosts.txt", "[gpus]\ngpu1\n", "hosts.txt:1: '[gpus]' is no host"),
        ("hosts.txt", "gpu[9-1]\n", "hosts.txt:1: 'gpu[9-1]' is no range of hosts: 9-1 runs backwards"),
        ("hosts.txt", "-oProxyCommand=x\n", "hosts.txt:1: '-oProxyCommand=x' is not a host"),
        ("hosts.txt", "# none yet\n", "it names no host"),
        ("loop.yaml", "hosts: {a: [b], b: [a]}", "the groups of hosts b and a are in each other"),
        ("loop.yaml", "host: {a: [b]}", "did you mean hosts?"),
        ("rack9", None, "is no file, and no group of"),
    ],
)  # fmt: skip
def test_a_mistake_says_its_place(name: str, content: str | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(UsageError) as caught:
        listed(name)
    assert message in caught.value.message


def test_a_list_with_half_a_range_says_how_one_is_written() -> None:
    with pytest.raises(
        UsageError, match=r"'gpu\[1-' is not a host: a range of hosts is written NAME\[01-16\]"
    ):
        listed("gpu[1-")


def test_what_is_not_there_is_told_with_what_has_nearly_its_name(tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text("gpu1\n")
    for text, near in (("rack-1", "rack1"), ("host.txt", "hosts.txt")):
        with pytest.raises(UsageError) as caught:
            listed(text)
        assert (caught.value.known, caught.value.next_command) == ({"near": near}, None)
    with pytest.raises(UsageError) as caught:
        listed("racks/nothing.yaml")
    assert caught.value.next_command == "ls racks"


def test_without_a_configuration_there_is_no_group(config: Path) -> None:
    config.unlink()
    assert group_names() == ()
    with pytest.raises(UsageError, match="no group is there"):
        listed("rack1")
