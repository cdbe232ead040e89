"""What does the configuration of a proxy say that stands before a fleet? Pure: replicas in, a file's text out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.base.amounts import bracketed
from orchestrator.fleet.replica import Replica, extent


@dataclass(frozen=True)
class Front:
    """Where a fleet is asked, and by which path a replica says that it is up."""

    fleet: str
    address: str
    port: int
    health_path: str

    @property
    def bind(self) -> str:
        return f"{bracketed(self.address)}:{self.port}"


def haproxy(front: Front, replicas: Sequence[Replica]) -> str:
    """An haproxy.cfg. Its socket takes a replica out of service and back: `set server FLEET/NAME state drain|ready`.

    The timeouts are those of answers that stream for an hour; a request that no replica has taken goes to another one.
    """
    lines = [
        *_head("#", front, replicas),
        "global",
        f"    stats socket /run/haproxy/{front.fleet}.sock mode 600 level admin",
        "",
        "defaults",
        "    mode http",
        "    timeout connect 5s",
        "    timeout client 1h",
        "    timeout server 1h",
        "    retries 3",
        "    option redispatch",
        "    retry-on conn-failure empty-response 503",
        "",
        f"frontend {front.fleet}",
        f"    bind {front.bind}",
        f"    default_backend {front.fleet}",
        "",
        f"backend {front.fleet}",
        "    balance leastconn",
        f"    option httpchk GET {front.health_path}",
        "    default-server check inter 1s fall 2 rise 1",
        *(f"    server {replica.name} {_place(replica)}" for replica in replicas),
    ]
    return "\n".join(lines) + "\n"


def nginx(front: Front, replicas: Sequence[Replica]) -> str:
    """A file for nginx's conf.d. It checks no replica by itself, and takes one out for 10 s once 2 requests could not reach it;
    `down` behind a server and `nginx -s reload` drain it. Buffers would hold back what is streamed."""
    lines = [
        *_head("#", front, replicas),
        f"upstream {front.fleet} {{",
        "    least_conn;",
        *(f"    server {_place(replica)} max_fails=2 fail_timeout=10s;" for replica in replicas),
        "    keepalive 64;",
        "}",
        "",
        "server {",
        f"    listen {front.bind};",
        "    client_max_body_size 0;",
        "    location / {",
        f"        proxy_pass http://{front.fleet};",
        "        proxy_http_version 1.1;",
        '        proxy_set_header Connection "";',
        "        proxy_buffering off;",
        "        proxy_request_buffering off;",
        "        proxy_connect_timeout 5s;",
        "        proxy_read_timeout 1h;",
        "        proxy_send_timeout 1h;",
        "        proxy_next_upstream error http_503;",
        "    }",
        "}",
    ]
    return "\n".join(lines) + "\n"


FORMS: Mapping[str, Callable[[Front, Sequence[Replica]], str]] = {"haproxy": haproxy, "nginx": nginx}


def _head(mark: str, front: Front, replicas: Sequence[Replica]) -> list[str]:
    return [f"{mark} {front.fleet}: {extent(replicas)}, written by deploy", ""]


def _place(replica: Replica) -> str:
    return replica.url.removeprefix("http://")
