"""The tests' stand-ins for a vLLM 0.16.0 on eight RTX PRO 6000 cards are the rehearsal's own."""

from orchestrator.rehearsal.environment import StandIn as StandIn
from orchestrator.rehearsal.environment import make as make
