"""What is written for other proxies."""

from __future__ import annotations

import re

from orchestrator.fleet.configuration import FORMS, Front
from orchestrator.fleet.replica import Replica

REPLICAS = (
    Replica("kimi", 1, "a", "127.0.0.1", 8001, (0, 1)),
    Replica("kimi", 2, "b", "fd00::2", 8002, (0, 1)),
)
FRONT = Front("kimi", "0.0.0.0", 8000, "/health")


def test_haproxy_checks_each_replica_and_can_drain_it() -> None:
    text = FORMS["haproxy"](FRONT, REPLICAS)
    assert "    server kimi-1 127.0.0.1:8001\n    server kimi-2 [fd00::2]:8002\n" in text
    assert "    bind 0.0.0.0:8000\n" in text
    assert "option httpchk GET /health" in text
    assert "level admin" in text  # else its socket takes no replica out


def test_nginx_holds_nothing_back_of_a_stream() -> None:
    text = FORMS["nginx"](FRONT, REPLICAS)
    assert re.findall(r"server (\S+) max_fails", text) == ["127.0.0.1:8001", "[fd00::2]:8002"]
    assert "listen 0.0.0.0:8000;" in text
    assert "proxy_buffering off;" in text
    assert text.count("{") == text.count("}")
