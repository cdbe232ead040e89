"""What does the text after `--host` name?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.base.errors import UsageError
from orchestrator.on_host.secrets.secrets import remember

LOCAL = "local"

# OpenSSH refuses these in a host or user name too: both end up in ProxyCommand lines.
_UNSAFE_USER = re.compile(r"""[\s\x00-\x1f\x7f'"`;&<>|(){}]""")
_UNSAFE_HOST = re.compile(r"""[\s\x00-\x1f\x7f'"`;&<>|(){}$\\*?!#,/]""")


@dataclass(frozen=True)
class Target:
    """A host as typed: what is None is for ssh_config to say."""

    text: str
    user: str | None
    host: str
    port: int | None

    @property
    def is_local(self) -> bool:
        return self.text == LOCAL


def parse_target(text: str) -> Target:
    """Read `local`, an alias, `user@host:port` or an IPv6 address (`::1`, `user@[::1]:2222`).

    Raises UsageError("host_name") for anything that ssh would refuse or take for an option.
    """
    if text == LOCAL:
        return Target(text, None, LOCAL, None)
    rest = text.removeprefix("ssh://").removesuffix("/") if text.startswith("ssh://") else text
    user, at, address = rest.rpartition("@")
    if at and not user:
        raise _refused(text, "the user before '@' is empty")
    remember(user.partition(":")[2])  # a password, which ssh would not take; it is not told again
    host, port = _split_port(text, address)
    if not host:
        raise _refused(text, "it names no host")
    if "[" in host or "]" in host:
        raise _refused(text, "a range of hosts is written NAME[01-16] or NAME[1,3,7-9]")
    for word, unsafe in ((user, _UNSAFE_USER), (host, _UNSAFE_HOST)):
        if word.startswith("-"):
            raise _refused(text, "ssh would take a leading '-' for an option")
        if sign := unsafe.search(word):
            raise _refused(text, f"{sign.group()!r} cannot stand in it")
    return Target(text, user or None, host, port)


def _split_port(text: str, address: str) -> tuple[str, int | None]:
    if address.startswith("["):
        host, bracket, tail = address[1:].partition("]")
        if not bracket or (tail and not tail.startswith(":")):
            raise _refused(text, "an IPv6 address in brackets is written [ADDRESS]:PORT")
        return host, _port(text, tail[1:]) if tail else None
    if address.count(":") > 1:  # a bare IPv6 address; a port needs brackets
        return address, None
    host, colon, port = address.partition(":")
    return host, _port(text, port) if colon else None


def _port(text: str, digits: str) -> int:
    if not (digits.isascii() and digits.isdigit() and 1 <= int(digits) <= 65535):
        raise _refused(text, f"{digits!r} is not a port (1 to 65535)")
    return int(digits)


def _refused(text: str, reason: str) -> UsageError:
    return UsageError(
        "host_name",
        f"{text!r} is not a host: {reason}.",
    )
