"""A host that is only planned for answers nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from orchestrator.base.errors import HostError
from orchestrator.hosts.absent import AbsentHost
from orchestrator.hosts.host import Host


@pytest.mark.parametrize(
    "ask",
    [
        lambda host: host.run("true"),
        lambda host: host.script("look", {}),
        lambda host: host.stream_script("look", {}),
        lambda host: host.stream(["true"]),
    ],
)
def test_whatever_it_is_asked(ask: Callable[[Host], object]) -> None:
    with AbsentHost("8xH200") as host, pytest.raises(HostError, match="8xH200") as refused:
        ask(host)
    assert refused.value.code == "no_host"
