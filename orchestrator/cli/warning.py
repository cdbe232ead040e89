"""How is a person warned by a verb whose standard output is data?"""

from __future__ import annotations

import sys


def warn(text: str) -> None:
    """A line on standard error, wrapped to the terminal."""
    from orchestrator.report.choose import width_of, write
    from orchestrator.report.layout import wrapped

    write(wrapped([("warning: ", "warn")], text, width_of(sys.stderr)), sys.stderr)
