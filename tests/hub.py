"""The Hub that the tests download from is the rehearsal's own."""

from orchestrator.rehearsal.hub import Hub as Hub
