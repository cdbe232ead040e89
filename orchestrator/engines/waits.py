"""What may a process wait for that stands still?"""

from __future__ import annotations

from typing import Literal

Wait = Literal[
    "rendezvous", "collective", "kernel", "message", "lock", "compile", "hub", "file", "import", "other"
]  # fmt: skip
"""rendezvous: for other ranks to join; collective: for them in one of their collectives; kernel: for what it has given its GPU to
do; message: for another process of the engine; lock: for a lock file; compile: for a compiler; hub: for the Hub; file: for a
file that it reads; import: for Python's modules; other: no frame of its stack shows anything."""
