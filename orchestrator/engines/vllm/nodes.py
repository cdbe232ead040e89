"""How is one launch of vLLM spread over several hosts, and what does each of them start?

Its own multi-node (0.11.1 and newer): the head runs the usual server, every other host `serve --headless`, which opens no
HTTP port and prints no word of being ready. Through Ray, which older releases need, the others have no process of vLLM's
until the head's asks Ray for its ranks. Copies of the model (data parallel) have options of their own, with which any
host may answer requests. Read from vLLM's source and seen with 0.32 on two hosts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from orchestrator.engines import ray
from orchestrator.engines.command_line import rendered
from orchestrator.engines.node import Node
from orchestrator.engines.options import Addition, Option, Options, OptionValue
from orchestrator.engines.variable import Variable
from orchestrator.engines.vllm.option_table import releases, takes

_SERVE = "vllm.entrypoints.cli.main"
"""The server's own module ignores --headless and --api-server-count."""
_POSITIONAL = ("model",)
_COPIES = "data-parallel-size"
_BACKEND = "distributed-executor-backend"
_OWN = ("nnodes", "node-rank", "master-addr", "master-port")
_TIMEOUTS = ("distributed-timeout-seconds", "cpu-distributed-timeout-seconds")
_Some = TypeVar("_Some", bound=Options)


def spread(options: _Some, node: Node) -> _Some:
    """The launch as this host's part of it."""
    copies = int(options.number(_COPIES) or 1)
    if node.through == "ray" or (options.value(_BACKEND) == "ray" and copies == 1 and node.through is None):
        return through_ray(options, node).with_variables(_variables(options, node))
    given = dict(_of_copies(node, copies) if copies > 1 else _of_ranks(node))
    if _BACKEND not in options.given:  # on a host with Ray installed vLLM would take that
        given[_BACKEND] = "mp"
    ours = {name: Option(value, "topology") for name, value in given.items()}
    return options.changed(ours).with_variables(_variables(options, node))


def _of_ranks(node: Node) -> Iterator[tuple[str, OptionValue]]:
    """One copy, whose ranks lie on all of the hosts."""
    yield "nnodes", node.of
    yield "node-rank", node.rank
    yield "master-addr", node.head
    yield "master-port", node.port


def _of_copies(node: Node, copies: int) -> Iterator[tuple[str, OptionValue]]:
    """Copies of which each lies whole on a host. `serve` would start as many front ends as there are copies."""
    own = copies // node.of
    yield "data-parallel-address", node.head
    yield "data-parallel-rpc-port", node.port
    if node.balance == "external":
        yield "data-parallel-rank", node.rank
        return
    yield "data-parallel-size-local", own
    if node.balance == "hybrid":
        yield "data-parallel-hybrid-lb", True
    if node.rank:
        yield "data-parallel-start-rank", own * node.rank
    if node.serves:
        yield "api-server-count", 1


def through_ray(options: _Some, node: Node) -> _Some:
    """The launch as one whose ranks Ray starts: what asks for vLLM's own way is left out."""
    ours = {**dict.fromkeys(_OWN), _BACKEND: Option("ray", "topology")}
    return replace(options.changed(ours), node=replace(node, through="ray"))


def for_version(options: _Some, version: str) -> _Some:
    """The same through Ray where this version has no multi-node of its own and nobody said how."""
    node, beside = options.node, releases().beside(version)
    lacks = bool(beside) and not any(takes("nnodes", release) for release in beside)
    if node is None or node.through is not None or not lacks or options.number(_COPIES) is not None:
        return options
    why = f"vLLM {version} has no way of its own to ranks on several hosts (0.11.1 is the first that has one)"
    noted = replace(options, additions=(*options.additions, Addition(f"--{_BACKEND} ray", why)))
    return through_ray(noted, node)


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


def command(options: Options, node: Node, server: tuple[str, ...]) -> tuple[str, ...]:
    """The command line of this host; `server` is the usual server's."""
    if options.through_ray:
        return ray.command(options.python, node, options.gpus, server)
    if node.serves and options.number(_COPIES) is None:
        return server
    own = {name: option for name, option in options.given.items() if name not in _POSITIONAL}
    items = [item for name, option in own.items() for item in rendered(name, option.value)]
    headless = [] if node.serves else ["--headless"]
    return (options.python, "-m", _SERVE, "serve", options.folder, *headless, *items)
