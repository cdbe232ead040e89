"""How is vLLM's own router started and asked? What it does was seen with 0.1.17."""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import quote

from orchestrator.engines.distribution import Distribution
from orchestrator.engines.router import Router
from orchestrator.facts.source import Package
from orchestrator.on_host.footprint import Footprint

METRICS_OFFSET = 20_000
"""Its own metrics have a port of their own, 29000 for every router unless it is told another."""


def _arguments(address: str, port: int) -> tuple[str, ...]:
    """Its defaults look at a replica once a minute and keep one that failed 10 times out for another: a replica that was healthy
    again was still out after 35 s."""
    metrics = port + METRICS_OFFSET if port + METRICS_OFFSET < 1 << 16 else port - METRICS_OFFSET
    options = {
        "host": address,
        "port": port,
        "policy": "round_robin",
        "prometheus-host": "127.0.0.1",
        "prometheus-port": metrics,
        "health-check-interval-secs": 2,
        "health-check-timeout-secs": 5,
        "health-failure-threshold": 2,
        "health-success-threshold": 1,
        "cb-timeout-duration-secs": 5,
        "request-timeout-secs": 3600,
    }
    return (
        "-m",
        "vllm_router.launch_router",
        *(item for name, value in options.items() for item in (f"--{name}", str(value))),
    )


def workers(text: str) -> Mapping[str, bool] | None:
    """What /workers lists; /health and /readiness say nothing of single ones, and `load` stayed 0 whatever they did."""
    try:
        return {str(each["url"]): each["is_healthy"] is True for each in json.loads(text)["workers"]}
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


ROUTER = Router(
    name="vllm-router",
    package=Package(("vllm-router",), "vllm_router"),
    version="0.1.17",
    log_name="router.log",
    footprint=Footprint(r"\bvllm_router\b|^vllm::router", "/vllm_router", (), ()),
    arguments=_arguments,
    alive_path="/liveness",  # /health is 503 as soon as one replica is not healthy
    workers_path="/workers",
    workers=workers,
    admit=lambda url: f"/add_worker?url={quote(url, safe='')}",
    withdraw=lambda url: f"/remove_worker?url={quote(url, safe='')}",
    distribution=Distribution(pythons=">=3.10,<3.14", likely_bytes={"vllm-router": 150_000_000}),
)
