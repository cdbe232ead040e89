"""Which groups of hosts has a person named, in a file of YAML?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from orchestrator.base.errors import UsageError
from orchestrator.base.frozen import Frozen
from orchestrator.base.yaml_file import load_model
from orchestrator.hosts.ranges import expanded

Groups = Mapping[str, Sequence[str]]


class GroupsFile(Frozen):
    """`hosts: {GROUP: [HOST, ...]}`; a host may be a range, or another group's name."""

    hosts: dict[str, list[Annotated[str, Field(min_length=1)]]]


def read(path: Path) -> Groups:
    """Raises UsageError("hosts_file")."""
    return load_model(path, GroupsFile, code="hosts_file").hosts


def members(groups: Groups, name: str, within: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The hosts of a group, with those of the groups in it, each once.

    In a group its own name is a host's. Raises UsageError("hosts_file") where two groups are in each other.
    """
    hosts: list[str] = []
    for item in groups[name]:
        for host in expanded(item):
            if host == name or host not in groups:
                hosts.append(host)
            elif host in within:
                raise UsageError("hosts_file", f"the groups of hosts {name} and {host} are in each other")
            else:
                hosts += members(groups, host, (*within, name))
    return tuple(dict.fromkeys(hosts))
