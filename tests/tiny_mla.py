"""The tests' own checkpoint is the rehearsal's, for a real engine on a CPU."""

from orchestrator.rehearsal.tiny_mla import CONFIGS as CONFIGS
from orchestrator.rehearsal.tiny_mla import make as make
