"""A host in a box on this machine: for `deploy rehearse`, and for tests of one's own playbooks and patches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.rehearsal.box import Box
    from orchestrator.rehearsal.boxes import Boxes
    from orchestrator.rehearsal.fleet_boxes import FleetBoxes
    from orchestrator.rehearsal.hub import Hub

__all__ = ["Box", "Boxes", "FleetBoxes", "Hub"]


def __getattr__(name: str) -> Any:
    """Imported when asked for: pytest loads this package's fixture in every run, and SSH takes its time."""
    if name == "Box":
        from orchestrator.rehearsal.box import Box

        return Box
    if name == "Boxes":
        from orchestrator.rehearsal.boxes import Boxes

        return Boxes
    if name == "FleetBoxes":
        from orchestrator.rehearsal.fleet_boxes import FleetBoxes

        return FleetBoxes
    if name == "Hub":
        from orchestrator.rehearsal.hub import Hub

        return Hub
    raise AttributeError(name)
