"""How is the way to a host opened, hop by hop, each one trusted and authenticated by itself?"""

from __future__ import annotations

import logging
import socket
from collections.abc import Sequence

import paramiko
from fabric import Config, Connection
from tenacity import (
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    stop_after_delay,
    wait_exponential,
)

from orchestrator.hosts import trust
from orchestrator.hosts.blame import TransportFault, auth_refused, meaning, unreachable
from orchestrator.hosts.carrier import Carrier, carry
from orchestrator.hosts.config import Resolved
from orchestrator.hosts.keys import Offers
from orchestrator.hosts.known_hosts import HostKey
from orchestrator.hosts.remote import RemoteHost
from orchestrator.hosts.route import Hop

# Without a handler Python prints paramiko's tracebacks on the terminal; each fault is told in one sentence.
logging.getLogger("paramiko").addHandler(logging.NullHandler())

_KEEPALIVE = 15  # seconds
_ATTEMPTS = 3


class OpenHop:
    """A hop that is being opened or is open, with all that must be let go of."""

    def __init__(self, hop: Hop) -> None:
        self.name = hop.name
        self.carrier: Carrier | None = None
        self.connection: Connection | None = None

    def close(self) -> None:
        if self.connection is not None:
            self.connection.client.close()  # Connection.close() leaves one alone that never came to be
        if self.carrier is not None:
            self.carrier.close()


class Judge(paramiko.MissingHostKeyPolicy):
    """Asks `trust` about every key: the client itself is given no known hosts, so all keys come here."""

    def __init__(self, resolved: Resolved, accepted: Sequence[str]) -> None:
        self._resolved = resolved
        self._accepted = accepted

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        del client, hostname  # the name that counts is ssh_config's
        trust.check(self._resolved, HostKey(key.get_name(), key.asbytes()), self._accepted)


def connect(name: str, way: Sequence[Hop], accepted: Sequence[str], timeout: float) -> RemoteHost:
    """Open every hop; raises HostError. `timeout` in seconds for each of connecting, keys, authentication."""
    opened: list[OpenHop] = []

    def hang_up() -> None:
        for hop in reversed(opened):
            hop.close()

    try:
        for hop in way:
            opened.append(_open_patiently(hop, opened[-1] if opened else None, accepted, timeout))
    except BaseException:
        hang_up()
        raise
    host = RemoteHost(name, _transport(opened[-1]), hang_up)
    host.address = way[-1].resolved.hostname
    return host


def _open_patiently(hop: Hop, gateway: OpenHop | None, accepted: Sequence[str], timeout: float) -> OpenHop:
    attempts = Retrying(
        retry=retry_if_exception_type(TransportFault),
        stop=stop_after_attempt(_ATTEMPTS) | stop_after_delay(timeout),
        wait=wait_exponential(multiplier=0.2, max=1.0),
        reraise=True,
    )
    try:
        return attempts(_open, hop, gateway, accepted, timeout)
    except TransportFault as fault:
        raise unreachable(hop, gateway.name if gateway else None, str(fault)) from None


def _open(hop: Hop, gateway: OpenHop | None, accepted: Sequence[str], timeout: float) -> OpenHop:
    resolved = hop.resolved
    limit = resolved.connect_timeout or timeout
    offers = Offers(resolved)
    opened = OpenHop(hop)
    try:
        if gateway is None:
            opened.carrier = carry(resolved, limit)
        opened.connection = _connection(resolved, gateway, opened.carrier, offers, limit)
        opened.connection.client.set_missing_host_key_policy(Judge(resolved, accepted))
        opened.connection.open()
        if not _transport(opened).is_authenticated():
            raise auth_refused(hop, offers, "a second factor is asked for")
    except BaseException as error:
        printed = opened.carrier.last_words() if opened.carrier else ""
        opened.close()
        raise meaning(error, hop, gateway.name if gateway else None, offers, printed) from None
    _transport(opened).set_keepalive(resolved.server_alive_interval or _KEEPALIVE)
    return opened


def _connection(
    resolved: Resolved, gateway: OpenHop | None, carrier: Carrier | None, offers: Offers, limit: float
) -> Connection:
    types = trust.preferred_types(trust.entries_of(resolved), resolved)

    def transport(sock: socket.socket, **options: object) -> paramiko.Transport:
        made = paramiko.Transport(sock, **options)  # type: ignore[arg-type]
        security = made.get_security_options()
        security.key_types = _known_first(security.key_types, types)
        return made

    options: dict[str, object] = {
        "timeout": limit,
        "banner_timeout": limit,
        "auth_timeout": limit,
        "channel_timeout": limit,
        "transport_factory": transport,
    }
    if carrier is not None:
        options["sock"] = carrier.socket
    # An empty SSHConfig and a lazy Config: everything that ssh_config says was resolved before, and a
    # fabric.yml on this machine has no say.
    config = Config(
        ssh_config=paramiko.SSHConfig(),
        lazy=True,
        overrides={"authentication": {"strategy_class": lambda **_: offers}},
    )
    return Connection(
        resolved.hostname,
        user=resolved.user,
        port=resolved.port,
        config=config,
        gateway=gateway.connection if gateway else False,
        connect_kwargs=options,
    )


def _transport(hop: OpenHop) -> paramiko.Transport:
    assert hop.connection is not None
    transport = hop.connection.client.get_transport()
    assert isinstance(transport, paramiko.Transport)
    return transport


def _known_first(offered: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    wanted = ["rsa-sha2-512", "rsa-sha2-256"] if "ssh-rsa" in known else []
    wanted += known
    first = [kind for kind in wanted if kind in offered]
    return (*first, *(kind for kind in offered if kind not in first))
