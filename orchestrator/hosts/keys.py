"""Which keys are offered to a host, and in which order?

The agent's keys that ssh_config names, then the agent's other keys (not with IdentitiesOnly), then key
files: a server counts every offer, and ends the conversation after a few.
"""

from __future__ import annotations

import base64
import contextlib
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from paramiko import AgentKey, PKey
from paramiko.agent import AgentSSH
from paramiko.auth_strategy import AuthSource, AuthStrategy, InMemoryPrivateKey, NoneAuth
from paramiko.config import SSHConfig
from paramiko.ssh_exception import SSHException

from orchestrator.hosts.config import Resolved
from orchestrator.on_host.files import regular_file

_AGENT_TIMEOUT = 10.0  # seconds
_LARGEST_BYTES = 1 << 20


@dataclass
class Offers(AuthStrategy):
    """The offers for one hop, and what was tried."""

    resolved: Resolved
    tried: list[str] = field(default_factory=list)
    locked: list[str] = field(default_factory=list)
    """Key files that a passphrase protects and that the agent does not hold."""

    def __post_init__(self) -> None:
        AuthStrategy.__init__(self, ssh_config=SSHConfig())

    def get_sources(self) -> Iterator[AuthSource]:
        user = self.resolved.user
        yield NoneAuth(user)  # as ssh does: some servers know who is calling already
        with contextlib.closing(Agent(self.resolved.identity_agent)) as agent:
            offered: set[bytes] = set()
            for key in self._agent_keys(agent):
                self.tried.append(f"{key.comment or key.get_name()} (agent)")
                offered.add(key.asbytes())
                yield InMemoryPrivateKey(user, key)
            for path in self.resolved.identity_files:
                loaded = self._load(path, offered)
                if loaded is not None and loaded.asbytes() not in offered:
                    self.tried.append(path)
                    yield InMemoryPrivateKey(user, loaded)

    def _agent_keys(self, agent: Agent) -> list[AgentKey]:
        named = [_public_blob(path) for path in self.resolved.identity_files]
        keys = list(agent.get_keys())
        first = [key for blob in named for key in keys if blob is not None and key.asbytes() == blob]
        others = [] if self.resolved.identities_only else [key for key in keys if key not in first]
        return first + others

    def _load(self, path: str, offered: set[bytes]) -> PKey | None:
        if not Path(path).is_file() or _public_blob(path) in offered:
            return None
        try:
            key = PKey.from_path(path)
            for certificate in self.resolved.certificate_files:
                with contextlib.suppress(SSHException, OSError, ValueError):
                    if regular_file.is_one(certificate):
                        key.load_certificate(certificate)
        except TypeError:  # cryptography's word for a missing passphrase
            self.locked.append(path)
        except (SSHException, OSError, ValueError, UnsupportedAlgorithm) as error:
            self.tried.append(f"{path} (not readable: {error})")
        else:
            return key
        return None


class Agent(AgentSSH):
    """The keys behind an agent's socket; without one, or where nobody listens, there are none."""

    def __init__(self, path: str | None) -> None:
        super().__init__()
        self._socket: socket.socket | None = None
        if path is None:
            return
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_AGENT_TIMEOUT)
        with contextlib.suppress(OSError, SSHException):
            self._socket.connect(path)
            self._connect(self._socket)  # type: ignore[attr-defined]

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()


def _public_blob(path: str) -> bytes | None:
    """The public key beside a private one, where it was left there."""
    try:
        return base64.b64decode(regular_file.read(path + ".pub", _LARGEST_BYTES).split()[1])
    except (regular_file.Unfit, ValueError, IndexError):
        return None
