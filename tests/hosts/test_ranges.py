"""Names that stand for several hosts."""

from __future__ import annotations

import pytest

from orchestrator.base.errors import UsageError
from orchestrator.hosts.ranges import expanded, split


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gpu7", "gpu7"),
        ("gpu[01-03]", "gpu01 gpu02 gpu03"),
        ("gpu[8:10]", "gpu8 gpu9 gpu10"),
        ("gpu[08-10].example.org", "gpu08.example.org gpu09.example.org gpu10.example.org"),
        ("gpu[1,3,7-8]", "gpu1 gpu3 gpu7 gpu8"),
        ("gpu{01..03}", "gpu01 gpu02 gpu03"),
        ("{a,b}.example.org", "a.example.org b.example.org"),
        ("root@r[1-2]n[1-2]:2222", "root@r1n1:2222 root@r1n2:2222 root@r2n1:2222 root@r2n2:2222"),
        ("[::1]", "[::1]"),
        ("root@[2001:db8::17]:2222", "root@[2001:db8::17]:2222"),
        ("[1:2:3:4:5:6:7:8]", "[1:2:3:4:5:6:7:8]"),
    ],
)
def test_a_range_is_each_of_its_names(text: str, names: str) -> None:
    assert expanded(text) == tuple(names.split())


@pytest.mark.parametrize("text", ["gpu[16-01]", "gpu[0-1000]", "gpu[0-999999999]", "r[1-40]n[1-40]"])
def test_a_range_that_is_a_slip_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        expanded(text)
    assert caught.value.code == "host_name"


def test_a_comma_in_a_range_parts_no_list() -> None:
    assert list(split("gpu[1,3], gpu{5,7},gpu9")) == ["gpu[1,3]", "gpu{5,7}", "gpu9"]
