"""Hosts that tell everything, for tests of what is said of one that does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orchestrator.facts import machine, topology
from orchestrator.facts.machine import Machine
from orchestrator.facts.source import Output, Unknown
from orchestrator.survey.survey import Survey
from tests.facts.cases_of import CASES
from tests.surveys import knowing, survey

TIMED_OUT = Unknown("no_answer", "no answer within 30 s")
SOCKETS = topology.parse(Output(0, (CASES / "topology/pcie_8gpu_node_sys.txt").read_text()))


def machine_of(name: str, **more: Any) -> Machine:
    read = machine.parse(Output(0, (CASES / "machine" / f"{name}.txt").read_text()))
    assert isinstance(read, Machine)
    return replace(read, **more)


def host(**facts: Any) -> Survey:
    usual = {"machine": machine_of("dual_turin"), "topology": SOCKETS, "p2p": (), "gpu_processes": ()}
    return knowing(survey(), **{**usual, **facts})
