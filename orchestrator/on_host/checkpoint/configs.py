"""Which files of a checkpoint are its configuration: read with every look at it, and edited by patches?"""

from __future__ import annotations

CONFIG = "config.json"
CONFIGS = (CONFIG, "hf_quant_config.json", "generation_config.json")
