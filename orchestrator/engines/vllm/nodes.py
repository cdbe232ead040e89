"""How is one launch of vLLM spread over several hosts, and what does each of them start?

Its own multi-node (0.11.1 and newer): the head runs the usual server, every other host `serve --headless`, which opens no
HTTP port and prints no word of being ready. Read from vLLM's source and seen with 0.32 on two hosts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from orchestrator.engines.command_line import rendered
from orchestrator.engines.node import Node
from orchestrator.engines.options import Addition, Option, Options, OptionValue
from orchestrator.engines.variable import Variable
from orchestrator.engines.vllm.option_table import releases, takes

_HEADLESS = "vllm.entrypoints.cli.main"
"""The server's own module ignores --headless."""
_POSITIONAL = ("model",)
_BACKEND = "distributed-executor-backend"
_TIMEOUTS = ("distributed-timeout-seconds", "cpu-distributed-timeout-seconds")
_Some = TypeVar("_Some", bound=Options)


def spread(options: _Some, node: Node) -> _Some:
    """The launch as this host's part of it."""
    given: dict[str, Option[OptionValue] | None] = {
        "nnodes": Option(node.of, "topology"),
        "node-rank": Option(node.rank, "topology"),
        "master-addr": Option(node.head, "topology"),
        "master-port": Option(node.port, "topology"),
    }
    if _BACKEND not in options.given:  # on a host with Ray installed vLLM would take that
        given[_BACKEND] = Option("mp", "topology")
    return options.changed(given).with_variables(_variables(options, node))


def _variables(options: Options, node: Node) -> list[Variable]:
    """Without them a rank takes the address of its own name, which may be a loopback's, or 0.0.0.0: the others hang."""
    where = f"{node.interface} leads to the other hosts"
    named = {
        "VLLM_HOST_IP": (node.address, "the address by which the other hosts reach this one"),
        "GLOO_SOCKET_IFNAME": (node.interface, where),
        "NCCL_SOCKET_IFNAME": (node.interface, where),
    }
    mine = {variable.name for variable in options.environment}
    return [
        Variable(name, value, reason, "topology")
        for name, (value, reason) in named.items()
        if name not in mine
    ]


def patient(options: _Some, version: str) -> _Some:
    """With the time that its ranks wait for each other, as far as this version has options for it."""
    node = options.node
    if node is None:
        return options
    known = [name for name in _TIMEOUTS if name not in options.given and _has(name, version)]
    notes = (Addition(f"--{name} {node.patience}", node.why_patient) for name in known)
    noted = replace(options, additions=(*options.additions, *notes))
    return noted.changed({name: Option(node.patience, "topology") for name in known})


def _has(name: str, version: str) -> bool:
    beside = releases().beside(version)
    return bool(beside) and all(takes(name, release) for release in beside)


def headless(options: Options) -> tuple[str, ...]:
    """The command line of a host that only computes."""
    own = {name: option for name, option in options.given.items() if name not in _POSITIONAL}
    items = [item for name, option in own.items() for item in rendered(name, option.value)]
    return (options.python, "-m", _HEADLESS, "serve", options.folder, "--headless", *items)
