"""Which AMD GPUs does the host have, with how much memory?"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.facts.source import Command, Fact, Output, Unknown, parsed, plain

# ROCm has both of them for now and is to drop rocm-smi, which alone tells in the same answer what is in use.
_SCRIPT = r"""
PATH="$PATH:/opt/rocm/bin"; export PATH
if command -v rocm-smi >/dev/null; then
  exec rocm-smi --showproductname --showmeminfo vram --showdriverversion --json
elif command -v amd-smi >/dev/null; then
  exec amd-smi static --asic --vram --driver --json
fi
echo '"none"'
"""

COMMAND = Command.sh(f"exec 2>/dev/null{_SCRIPT}", timeout=20)


@dataclass(frozen=True)
class AmdGpu:
    """One card; what is not told is None."""

    index: int
    name: str
    architecture: str | None
    """As in "gfx942"."""
    memory_mib: int | None
    memory_used_mib: int | None
    driver: str | None


def parse(output: Output) -> tuple[AmdGpu, ...] | Unknown:
    """From the JSON of `rocm-smi` or `amd-smi static`, in the order of their index."""
    begin = re.search(r'^[\[{"]', output.out, re.MULTILINE)  # warnings may stand above it
    try:
        value = json.loads(output.out[begin.start() :]) if begin else None
    except (ValueError, RecursionError):
        value = None
    if value == "none":
        return Unknown("no_rocm", "neither rocm-smi nor amd-smi is on the host")
    if isinstance(value, dict) and isinstance(value.get("gpu_data"), list):
        value = value["gpu_data"]
    if isinstance(value, list):
        cards = [_of_amd_smi(item) for item in value if isinstance(item, dict)]
    else:
        cards = _of_rocm_smi(value) if isinstance(value, dict) else []
    if not cards:
        return Unknown(
            "amd_unreadable", f"neither rocm-smi nor amd-smi names a card (exit status {output.rc})"
        )
    return tuple(sorted(cards, key=lambda card: card.index))


FACT = Fact("amd_gpus", plain(COMMAND), parsed(parse), tuple[AmdGpu, ...])


def _of_rocm_smi(value: Mapping[str, Any]) -> list[AmdGpu]:
    """{"card0": {"Card Series": ...}, "system": {"Driver version": ...}}; how a key is capitalised differs by release."""
    system = value.get("system")
    driver = system.get("Driver version") if isinstance(system, dict) else None
    cards = []
    for name, card in value.items():
        if (number := re.fullmatch(r"card(\d{1,4})", name)) and isinstance(card, dict):
            known = {key.lower(): word for key, word in card.items()}
            total, used = (known.get(f"vram total {word}memory (b)") for word in ("", "used "))
            series = known.get("card series") or known.get("card model") or "AMD GPU"
            cards.append(
                AmdGpu(
                    int(number[1]),
                    str(series),
                    _gfx(known.get("gfx version")),
                    _mib(total),
                    _mib(used),
                    _text(driver),
                )
            )
    return cards


def _of_amd_smi(card: Mapping[str, Any]) -> AmdGpu:
    """{"gpu": 0, "asic": {...}, "vram": {"size": {"value": 196592, "unit": "MB"}}, "driver": {...}}; MB are MiB there."""
    asic, vram, driver = (
        part if isinstance(part := card.get(key), dict) else {} for key in ("asic", "vram", "driver")
    )
    size = vram.get("size")
    value = size.get("value") if isinstance(size, dict) else None
    index = card.get("gpu")
    return AmdGpu(
        index if isinstance(index, int) else 0,
        str(asic.get("market_name") or "AMD GPU"),
        _gfx(asic.get("target_graphics_version")),
        value if isinstance(value, int) else None,
        None,
        _text(driver.get("version")),
    )


def _gfx(value: object) -> str | None:
    return value if isinstance(value, str) and re.fullmatch(r"gfx[0-9a-f]{3,8}", value) else None


def _mib(value: object) -> int | None:
    return int(value) >> 20 if isinstance(value, str) and re.fullmatch(r"\d{1,18}", value) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
