"""How ranks of the stand-in on several hosts meet and fall: as those of a real vLLM 0.32 were seen to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.rehearsal import ports
from orchestrator.rehearsal.stand_in.peers import PeerError, Peers
from orchestrator.rehearsal.stand_in.settings import StandInSettings

MADE: list[Peers] = []


@pytest.fixture
def port() -> Iterator[int]:
    with ports.reserve() as kept:
        yield kept.getsockname()[1]
    while MADE:
        close(MADE.pop())


def peers(port: int, node: int, *, fault: str = "", patience: float = 30.0) -> Peers:
    given: dict[str, Any] = {
        "nnodes": 2, "node_rank": node, "master_addr": "127.0.0.1", "master_port": port,
        "distributed_timeout_seconds": patience, "tensor_parallel_size": 2,
    }  # fmt: skip
    MADE.append(Peers(StandInSettings(given, {}, "auto", fault)))
    return MADE[-1]


def met(port: int, **more: Any) -> tuple[Peers, Peers]:
    head, worker = peers(port, 0, **more), peers(port, 1, **more)
    joining = threading.Thread(target=worker.meet)
    joining.start()
    head.meet()
    joining.join()
    return head, worker


def close(gone: Peers) -> None:
    """End its connections, as the end of its process does."""
    for line in gone._lines:
        line.close()


def test_they_meet_and_compute_together(port: int) -> None:
    head, worker = met(port)
    other = threading.Thread(target=worker.together)
    other.start()
    head.together()
    other.join()


@pytest.mark.parametrize("dies", [0, 1])
def test_one_that_is_gone_is_noticed_by_what_is_computed_next(port: int, dies: int) -> None:
    pair = met(port)
    close(pair[dies])
    with pytest.raises(PeerError, match=r"Connection closed by peer \[127.0.0.1\]:\d+. .* Check the logs"):
        pair[1 - dies].together()


def test_one_that_does_not_answer_is_given_up_after_their_patience(port: int) -> None:
    head, _ = met(port, patience=0.2)
    with pytest.raises(PeerError, match="Timed out waiting 200ms for recv"):
        head.together()


def test_one_that_does_not_come_is_counted(port: int) -> None:
    with pytest.raises(PeerError, match=r"DistStoreError: Timed out after 1 seconds .* 1/2 clients joined"):
        peers(port, 0, patience=0.2).meet()


def test_who_only_looks_whether_somebody_listens_is_none_of_them(port: int) -> None:
    head = peers(port, 0, patience=0.5)
    missing: list[PeerError] = []

    def wait() -> None:
        try:
            head.meet()
        except PeerError as error:
            missing.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    while waiting.is_alive():
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except ConnectionRefusedError:
            continue
    waiting.join()
    assert "1/2 clients joined" in str(missing[0])


def test_a_port_that_is_taken_is_named(port: int) -> None:
    with socket.create_server(("", port)), pytest.raises(PeerError, match=f"port: {port}.*EADDRINUSE"):
        peers(port, 0).meet()


def test_a_firewall_that_refuses_is_noticed_by_the_rank_behind_it(port: int) -> None:
    with pytest.raises(PeerError, match=r"Gloo connectFullMesh failed .* Connection refused"):
        peers(port, 1, fault="firewall-refused").meet()
