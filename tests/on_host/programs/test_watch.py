"""Watching a launch. Engines are stand-ins (stand_in.py); the controller is the other end of a pipe."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import threading
import time
from collections.abc import Iterator
from typing import IO, Any

import pytest

from orchestrator.on_host.kinds import launches
from orchestrator.on_host.programs import watch
from orchestrator.on_host.refusal import Refusal
from tests.on_host.conftest import Deployments, ready, stand_in, until
from tests.ports import free_port
from tests.waiting import eventually, takes_less_than


def watching(number: int, port: int, **more: Any) -> Iterator[dict[str, Any]]:
    request = {
        "instance": "tiny",
        "launch": number,
        "port": port,
        "host": "127.0.0.1",
        "health_path": "/health",
        "interval": 0.02,
    }
    return watch.main({**request, "model": "tiny", "api_key": None, **more})


def test_a_healthy_server_and_its_end(deployments: Deployments, controller: IO[bytes]) -> None:
    port = free_port()
    one = deployments.launch(stand_in(port=port))
    values = watching(1, port)
    assert next(values) == {"process": "running", "launch": 1, "pid": one.pid}
    healthy = until(values, "healthy")
    server = ready(one)["server"]
    assert healthy["owner"]["pid"] == server
    assert (healthy["healthy"], healthy["listed"], healthy["ours"]) == (True, True, True)
    os.kill(server, signal.SIGKILL)
    assert until(values, "exited") == {"exited": 137, "log_bytes": one.log.stat().st_size, "members": []}
    assert list(values) == []
    assert not controller.closed


@pytest.mark.usefixtures("controller")
def test_an_exit_is_seen_at_once_though_the_server_never_answers(
    deployments: Deployments, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes as long as a look at all processes; an unanswered question takes five seconds."""
    monkeypatch.setattr(watch, "HEARTBEAT_SECONDS", 600.0)

    def late() -> float:
        one = deployments.launch(["/bin/sh", "-c", "sleep 0.3; exit 3"])
        seen = list(watching(one.number, silent.getsockname()[1]))
        assert [value for value in seen if "waited" not in value] == [
            {"process": "running", "launch": one.number, "pid": one.pid},
            {"exited": 3, "log_bytes": 0, "members": []},
        ]
        return time.time() - (one.folder / "exit").stat().st_mtime

    with socket.create_server(("127.0.0.1", 0)) as silent:
        takes_less_than(1.0, late)


@pytest.mark.usefixtures("controller")
def test_a_launch_that_is_over_already(deployments: Deployments) -> None:
    one = deployments.launch(stand_in(exit=3, out="boom"))
    eventually(lambda: one.exit_code() is not None and not launches.members(one, launches.table()))
    assert list(watching(1, free_port())) == [{"exited": 3, "log_bytes": 5, "members": []}]


@pytest.mark.usefixtures("controller")
def test_workers_alone_alive_are_named(deployments: Deployments) -> None:
    one = deployments.launch(stand_in(workers=1))
    pids = ready(one, 1)
    values = watching(1, free_port())
    next(values)
    os.kill(pids["server"], signal.SIGKILL)
    last = until(values, "exited")
    assert last["exited"] == 137
    assert last["members"] == [{"pid": pids["worker 0"], "name": "VLLM::Worker_TP"}]


@pytest.mark.usefixtures("controller")
def test_a_killed_supervisor_records_nothing(deployments: Deployments) -> None:
    one = deployments.launch(stand_in())
    server = ready(one)["server"]
    values = watching(1, free_port())
    next(values)
    os.kill(one.pid or 0, signal.SIGKILL)
    last = until(values, "exited")
    assert last["exited"] is None
    assert [member["pid"] for member in last["members"]] == [server]


@pytest.mark.usefixtures("controller")
def test_a_server_that_goes_while_what_started_it_stays(deployments: Deployments) -> None:
    port = free_port()
    wrapped = shlex.join(stand_in(port=port))
    one = deployments.launch(["/bin/sh", "-c", f"{wrapped}; sleep 60"])
    values = watching(1, port)
    assert until(values, "healthy")["healthy"] is True
    os.kill(ready(one)["server"], signal.SIGKILL)
    gone = next(value for value in values if value.get("process") == "server_gone")
    assert {member["pid"] for member in gone["members"]} >= {one.pid}
    values.close()  # type: ignore[attr-defined]


@pytest.mark.usefixtures("controller")
def test_somebody_else_answers_on_the_port(deployments: Deployments, bystander: Any) -> None:
    port = free_port()
    stranger = bystander(port=port)
    deployments.launch(stand_in())
    values = watching(1, port)
    seen = until(values, "healthy")
    assert (seen["healthy"], seen["ours"], seen["models"]) == (True, False, ["tiny"])
    assert seen["owner"]["pid"] == stranger.pid
    values.close()  # type: ignore[attr-defined]


@pytest.mark.usefixtures("controller")
@pytest.mark.parametrize(
    ("more", "healthy", "listed", "models"),
    [
        ({"model": "other"}, True, False, ["tiny"]),
        ({"api_key": "wrong"}, False, False, []),
        ({"api_key": "k", "model": None}, True, True, ["tiny"]),
    ],
)
def test_what_healthy_takes(
    deployments: Deployments, more: dict[str, Any], healthy: bool, listed: bool, models: list[str]
) -> None:
    port = free_port()
    authorization = {"authorization": "Bearer k"} if "api_key" in more else {}
    deployments.launch(stand_in(port=port, **authorization))
    values = watching(1, port, **more)
    seen = until(values, "healthy")
    assert (seen["healthy"], seen["listed"], seen["models"]) == (healthy, listed, models)
    assert seen["locked"] == (more.get("api_key") == "wrong")
    values.close()  # type: ignore[attr-defined]


def test_it_ends_when_the_controller_leaves(
    deployments: Deployments, controller: IO[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "HEARTBEAT_SECONDS", 600.0)  # it is not for this that it ends
    one = deployments.launch(stand_in())
    values = watching(1, free_port())
    next(values)
    leave = threading.Timer(0.1, controller.close)
    leave.start()
    assert not [value for value in values if "exited" in value]
    leave.join()
    assert launches.supervisor(one, launches.table()) is not None


@pytest.mark.usefixtures("controller")
def test_a_heartbeat_tells_time_and_size(deployments: Deployments, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "HEARTBEAT_SECONDS", 0.02)
    one = deployments.launch(stand_in(out="hello"))
    ready(one)
    beats = [
        value for value, _ in zip((v for v in watching(1, free_port()) if "waited" in v), "abc", strict=False)
    ]
    assert [beat["log_bytes"] for beat in beats] == [one.log.stat().st_size] * 3
    assert beats[0]["waited"] <= beats[1]["waited"] <= beats[2]["waited"]


@pytest.mark.usefixtures("controller")
def test_an_unknown_launch(deployments: Deployments) -> None:
    with pytest.raises(Refusal) as no:
        list(watching(7, free_port()))
    assert no.value.code == "no_launch"
    assert not deployments.folder().exists()
