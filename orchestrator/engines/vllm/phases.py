"""Which phases does a start of vLLM pass?"""

from __future__ import annotations

PHASES = (
    "starting",
    "configuring",
    "starting engine",
    "starting workers",
    "downloading",
    "loading weights",
    "profiling",
    "compiling",
    "allocating kv cache",
    "capturing graphs",
    "starting server",
    "up",
)
"""In the order in which a launch passes them; some are skipped (no graphs with --enforce-eager)."""
