"""Which keys are offered to a host, in which order, and what is said of those that cannot be."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from paramiko.auth_strategy import InMemoryPrivateKey, NoneAuth

from orchestrator.hosts import keys
from orchestrator.hosts.config import Resolved
from orchestrator.hosts.keys import Agent, Offers

HOST = Resolved("gpu", 22, "ada")


class Held:
    """A key that an agent holds."""

    def __init__(self, blob: bytes, comment: str) -> None:
        self._blob, self.comment = blob, comment

    def asbytes(self) -> bytes:
        return self._blob

    def get_name(self) -> str:
        return "ssh-ed25519"


def key(folder: Path, name: str, passphrase: bytes | None = None) -> tuple[str, bytes]:
    """A key file with its public half beside it; its path and the public blob."""
    private = Ed25519PrivateKey.generate()
    how = serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
    form = serialization.PrivateFormat.OpenSSH
    path = folder / name
    path.write_bytes(private.private_bytes(serialization.Encoding.PEM, form, how))
    public = private.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    path.with_suffix(".pub").write_bytes(public + b" ada@home\n")
    return str(path), base64.b64decode(public.split()[1])


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> list[Held]:
    held: list[Held] = []

    class Holding(Agent):
        def get_keys(self) -> Any:
            return tuple(held)

    monkeypatch.setattr(keys, "Agent", Holding)
    return held


def offered(host: Resolved) -> tuple[Offers, list[Any]]:
    made = Offers(host)
    first, *sources = made.get_sources()
    assert isinstance(first, NoneAuth)  # as ssh does: some servers know who is calling already
    assert all(isinstance(source, InMemoryPrivateKey) and source.username == "ada" for source in sources)
    return made, [source.pkey for source in sources]


def test_the_agents_named_keys_come_first_then_its_others_then_files(
    tmp_path: Path, agent: list[Held]
) -> None:
    named, blob = key(tmp_path, "named")
    alone, _ = key(tmp_path, "alone")
    agent += [Held(b"another", "another"), Held(blob, "named")]
    made, given = offered(replace(HOST, identity_files=(named, alone)))
    assert made.tried == ["named (agent)", "another (agent)", alone]
    assert len(given) == 3  # what the agent holds is not offered once more as a file


def test_only_what_is_named_is_offered_where_that_is_asked_for(tmp_path: Path, agent: list[Held]) -> None:
    named, blob = key(tmp_path, "named")
    agent += [Held(b"another", ""), Held(blob, "")]
    made, _ = offered(replace(HOST, identity_files=(named,), identities_only=True))
    assert made.tried == ["ssh-ed25519 (agent)"]


def test_a_file_that_is_locked_missing_or_no_key_is_told_and_not_offered(
    tmp_path: Path, agent: list[Held]
) -> None:
    locked, _ = key(tmp_path, "locked", b"passphrase")
    odd = tmp_path / "odd"
    odd.write_text("no key\n")
    made, given = offered(replace(HOST, identity_files=(locked, str(odd), str(tmp_path / "missing"))))
    assert (given, made.locked) == ([], [locked])
    (tried,) = made.tried
    assert tried.startswith(f"{odd} (not readable: ")


def test_where_there_is_no_agent_there_are_no_keys_of_one(tmp_path: Path) -> None:
    for path in (None, str(tmp_path / "nobody")):
        made = Agent(path)
        assert tuple(made.get_keys()) == ()
        made.close()
