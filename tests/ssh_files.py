"""Which files does a host with an sshd of a test have, and what is written of it for its clients?"""

from __future__ import annotations

from pathlib import Path


class SshFiles:
    """In `folder`: HOME and XDG_STATE_HOME of everything that runs on the host, and its key."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def state_home(self) -> Path:
        return self.folder / "state"

    def known_as(self, address: str) -> str:
        """Its line of known_hosts."""
        kind, key = (self.folder / "host_key.pub").read_text().split()[:2]
        return f"{address} {kind} {key}\n"


def stanza(name: str, client: Path, **settings: str) -> str:
    """A `Host` block for an ssh_config, by the client_key and the known_hosts of the folder `client` alone; `settings` are added, or
    go before."""
    own = {
        "IdentityFile": str(client / "client_key"),
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "UserKnownHostsFile": str(client / "known_hosts"),
        "GlobalKnownHostsFile": "/dev/null",
        **settings,
    }
    return "\n".join([f"Host {name}", *(f"    {key} {value}" for key, value in own.items()), ""])
