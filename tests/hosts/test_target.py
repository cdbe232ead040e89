from __future__ import annotations

import pytest

from orchestrator.base.errors import UsageError
from orchestrator.hosts.target import Target, parse_target


@pytest.mark.parametrize(
    ("text", "user", "host", "port"),
    [
        ("local", None, "local", None),
        ("gpu-box", None, "gpu-box", None),
        ("gpu_box.example.com", None, "gpu_box.example.com", None),
        ("10.1.230.174", None, "10.1.230.174", None),
        ("root@gpu", "root", "gpu", None),
        ("gpu:2222", None, "gpu", 2222),
        ("root@gpu:2222", "root", "gpu", 2222),
        ("first.last@corp.example@gpu", "first.last@corp.example", "gpu", None),
        ("CORP\\ada@gpu", "CORP\\ada", "gpu", None),
        ("::1", None, "::1", None),
        ("fe80::1%eth0", None, "fe80::1%eth0", None),
        ("root@2001:db8::7", "root", "2001:db8::7", None),
        ("[::1]", None, "::1", None),
        ("root@[::1]:2222", "root", "::1", 2222),
        ("ssh://root@gpu:2222/", "root", "gpu", 2222),
    ],
)
def test_what_ssh_accepts(text: str, user: str | None, host: str, port: int | None) -> None:
    assert parse_target(text) == Target(text, user, host, port)
    assert parse_target(text).is_local == (text == "local")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "-oProxyCommand=x",
        "root@-oProxyCommand=x",
        "-l@gpu",
        "@gpu",
        "root@",
        "gpu box",
        "gpu\n",
        "gpu\tbox",
        "gpu[1-",
        "gpu1-3]",
        "gpu\x00",
        "gpu\x7f",
        "gpu;ls",
        "$(ls)",
        "`ls`",
        "a'b@gpu",
        "gpu:",
        "gpu:ssh",
        "gpu:0",
        "gpu:65536",
        "gpu:٣",
        "[::1",
        "[::1]2222",
        "[]:22",
        ":22",
        "ssh://",
    ],
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_target(text)
    assert caught.value.code == "host_name"
    assert repr(text) in caught.value.message
