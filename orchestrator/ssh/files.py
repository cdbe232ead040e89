"""How are a host's files named while they are written, and what is said when that fails?"""

from __future__ import annotations

import secrets

from orchestrator.errors import HostError


def beside(name: str) -> str:
    """The name of the temporary file that becomes `name`: hidden, in the same folder."""
    return f".{name[:200]}.{secrets.token_hex(6)}"


def no_such_file(host: str, path: str) -> HostError:
    return HostError("no_such_file", f"There is no {path} on {host}.")


def cannot_read(host: str, path: str, reason: str) -> HostError:
    return HostError("host_file", f"{path} on {host} cannot be read: {reason}.")


def cannot_write(host: str, path: str, reason: str) -> HostError:
    return HostError("host_file", f"{path} on {host} cannot be written: {reason}.")
