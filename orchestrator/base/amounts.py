"""How is an amount written for a person: a time, a number of bytes, an address?"""

from __future__ import annotations

import re


def duration(seconds: float) -> str:
    """0.4s, 41s, 14m02s, 2h05m."""
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    if seconds < 60:
        return f"{int(seconds)}s"
    if seconds < 3600:
        return f"{int(seconds) // 60}m{int(seconds) % 60:02d}s"
    return f"{int(seconds) // 3600}h{int(seconds) % 3600 // 60:02d}m"


def rounded(seconds: float) -> str:
    """A limit or an estimate, which nobody knows to the tenth: 41s, 30m, 1h05m."""
    shown = duration(max(10.0, seconds)) if seconds >= 10 else f"{max(0, int(seconds))}s"
    return re.sub(r"(?<=m)00s$", "", shown)


def decimal(count: int) -> str:
    """Bytes in the decimal units that the Hub uses: 591 GB."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def fewest(*tokens: int | None) -> int | None:
    """The smallest of those that are known."""
    return min((each for each in tokens if each is not None), default=None)


def beside(served: int, asked: int | str | None) -> str:
    """Tokens of one request that a server takes, beside what was asked for: 46112 (asked 131072), 46112 (auto: as many as fit)."""
    if asked == "auto":
        return f"{served} (auto: as many as fit)"
    return str(served) if asked in (None, served) else f"{served} (asked {asked})"


def bracketed(address: str) -> str:
    """An address as a URL wants it: IPv6 in brackets."""
    return f"[{address}]" if ":" in address and not address.startswith("[") else address
