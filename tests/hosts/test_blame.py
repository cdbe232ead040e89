"""What it means that a hop could not be opened: for a person, or for whoever tries it again."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from paramiko import ChannelException
from paramiko.auth_strategy import AuthFailure, AuthResult, NoneAuth, SourceResult
from paramiko.ssh_exception import AuthenticationException, IncompatiblePeer, SSHException

from orchestrator.base.errors import HostError
from orchestrator.hosts.blame import TransportFault, meaning
from orchestrator.hosts.config import Resolved
from orchestrator.hosts.keys import Offers
from orchestrator.hosts.route import Hop

RESOLVED = Resolved("10.1.2.3", 2222, "ada")
HOP = Hop("gpu7", RESOLVED)


def offers(*tried: str, locked: tuple[str, ...] = ()) -> Offers:
    return Offers(RESOLVED, tried=[*tried], locked=[*locked])


def told(
    error: BaseException, *, through: str | None = None, hop: Hop = HOP, printed: str = "", **offered: Any
) -> BaseException:
    return meaning(error, hop, through, offers(**offered) if offered else offers(), printed)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ChannelException(2, "Connect failed"), "the jump host cannot open it (connect failed)"),
        (socket.gaierror(socket.EAI_NONAME, "x"), "its name cannot be resolved"),
        (UnicodeError("label too long"), "no host can have such a name"),
        (IncompatiblePeer("no kex"), "no common algorithm: no kex"),
        (TimeoutError(), "timed out"),
    ],
)
@pytest.mark.parametrize("through", [None, "bastion"])
def test_a_host_that_cannot_be_reached(error: BaseException, reason: str, through: str | None) -> None:
    found = told(error, through=through)
    assert isinstance(found, HostError)
    way = " through bastion" if through else ""
    assert found.code == "host_unreachable"
    assert found.message == f"10.1.2.3 port 2222 (gpu7) cannot be reached{way}: {reason}."
    assert found.next_command == "ssh -v gpu7"


@pytest.mark.parametrize(
    ("name", "config", "command"),
    [
        ("ada@gpu7:2222", None, "ssh -v -p 2222 ada@gpu7"),
        ("[::1]:22", None, "ssh -v -p 22 ::1"),
        ("gpu7", "/my config", "ssh -F '/my config' -v gpu7"),
    ],
)
def test_how_far_ssh_itself_gets(name: str, config: str | None, command: str) -> None:
    assert Hop(name, RESOLVED, config).by_hand == command


def test_a_host_of_one_name_is_named_once() -> None:
    found = told(TimeoutError(), hop=Hop("10.1.2.3", RESOLVED))
    assert isinstance(found, HostError)
    assert found.message == "10.1.2.3 port 2222 cannot be reached: timed out."


@pytest.mark.parametrize(
    ("error", "printed", "words"),
    [
        (ConnectionResetError(104, "Connection reset by peer"), "", "connection reset by peer"),
        (socket.gaierror(socket.EAI_AGAIN, "Try again"), "", "try again"),
        (SSHException("Error reading SSH protocol banner"), "", "Error reading SSH protocol banner"),
        (EOFError(), "", "the connection was closed"),
        (EOFError(), "nc: no route", "nc: no route"),
    ],
)
def test_a_fault_below_ssh_may_be_tried_again(error: BaseException, printed: str, words: str) -> None:
    found = told(error, printed=printed)
    assert isinstance(found, TransportFault)
    assert str(found) == words


def failed(*results: Exception) -> AuthFailure:
    attempts = AuthResult(None)
    attempts += [SourceResult(NoneAuth("ada"), result) for result in results]
    return AuthFailure(attempts)


def test_a_server_that_judged_nothing_may_be_asked_again() -> None:
    found = told(failed(EOFError()))
    assert (type(found), str(found)) == (TransportFault, "the connection broke during authentication")


@pytest.mark.parametrize(
    ("offered", "tried", "following"),
    [
        (offers(), "tried: no key was found", "ssh -v gpu7"),
        (offers("a (agent)", "/k"), "tried: a (agent), /k", "ssh -v gpu7"),
        (
            offers("/k", locked=("/my key",)),
            "tried: /k; a passphrase locks /my key",
            "ssh-add '/my key'",
        ),
    ],
)
def test_a_server_that_refused_every_key(offered: Offers, tried: str, following: str) -> None:
    for error in (failed(AuthenticationException()), AuthenticationException()):
        found = meaning(error, HOP, None, offered, "")
        assert isinstance(found, HostError)
        assert (found.code, found.next_command) == ("auth_refused", following)
        assert found.message == f"10.1.2.3 port 2222 refused user ada ({tried})."


def test_what_is_an_answer_already_and_what_nobody_knows_stays_as_it_is() -> None:
    for error in (HostError("host_key_unknown", "x"), ValueError("odd"), KeyboardInterrupt()):
        assert told(error) is error
