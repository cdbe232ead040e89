"""How much of what uv fetches is there, by the lines that it prints?"""

from __future__ import annotations

import re

_UNITS = {None: 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


class WheelBytes:
    """Adds up the larger wheels: uv names each with its size as it begins, and again once it has it."""

    def __init__(self) -> None:
        self._begun: dict[str, int] = {}
        self._bytes = 0

    def after(self, line: str) -> dict[str, int]:
        """{bytes, total} by this line and those before it; {} where it names no wheel."""
        begun = re.fullmatch(r"\s*Downloading (\S+) \(([\d.]+)([KMG]i)?B\)", line)
        ended = re.fullmatch(r"\s*Downloaded (\S+)", line)
        if begun:
            self._begun[begun[1]] = round(float(begun[2]) * _UNITS[begun[3]])
        elif ended:
            self._bytes += self._begun.get(ended[1], 0)
        if not (begun or ended) or not self._begun:
            return {}
        return {"bytes": self._bytes, "total": sum(self._begun.values())}
