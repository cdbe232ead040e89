"""Which lines tell of something that failed, though nobody raised an exception: by whom, and what may follow from it?

The words are those of the operating system and of native libraries, the same under every engine. A line with such words is
a cause only where it stands beside a failure that could have come of it (`beside.py`): most of them are survived.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SYSTEM = (
    r"Operation not permitted|Permission denied|No such device|Cannot allocate memory|Resource temporarily unavailable"
    r"|Too many open files|Device or resource busy|Input/output error|Stale file handle|Read-only file system"
    r"|Disk quota exceeded|No space left on device|Function not implemented|Operation not supported"
)
_SURVIVED = re.compile(
    r"get_mempolicy: |numa_migrate_pages failed|libibverbs: Warning: couldn't |[Ff]alling back|[Ss]kipping tactic|[Rr]etrying in "
)
"""What an engine is known to go on after, or says itself that it does."""


@dataclass(frozen=True)
class Omen:
    """One kind of such lines: the expression that they fit, and `follows` for what is said, or passed through (a source
    file of the traceback), where such a failure is felt later. None: only what says nothing itself may come of it.

    `by_name`: the link is a name that both say, so that it holds however far apart they stand, in any process.
    """

    line: str
    follows: re.Pattern[str] | None = None
    by_name: bool = False

    def told_by(self, message: str) -> bool:
        """Whether a line tells it; the expression was found in it already."""
        return _SURVIVED.search(message) is None


PENDING = Omen(
    r"\b(?:cu(?:da)?|hip)[A-Z]\w{2,60}(?:\(\))?[ :].{0,80}\b(?:failed|returned)\b|\b(?:cu(?:da)?|hip)[A-Z]\w{2,60} failed",
    follows=re.compile(
        r"\b(?:CUDA|HIP) (?:runtime |driver )?error\b|\bcudaError[A-Z]|\bhipError[A-Z]|\bCUDA_ERROR_"
    ),
)
"""A call to CUDA that failed and was passed over: its error stays pending, and the next call that looks for one tells it."""
FABRIC = Omen(
    r"\bnv(?:idia)?_peer_?mem\b|init failed for transport|\bibv_\w{1,60}(?:\(\))? (?:failed|returned)|\bUCX {1,4}ERROR"
    r"|cannot allocate mlx5dv|nvshmem\w{0,60}:\d{1,6}: (?:non-zero status|NULL value)|gdr(?:copy|drv)\b.{0,80}(?:failed|not found|not loaded)",
    follows=re.compile(
        r"nvshmem|NVSHMEM|\bNCCL\b|\bnccl|\bUCX\b|\buc[pst]_|NIXL|nixl|[Tt]ransfer ?[Ee]ngine|deep_?ep|DeepEP|RDMA"
    ),
)
TLS = Omen(
    r"certificate verify failed|SSL peer certificate|SSL certificate problem|unable to get local issuer certificate"
    r"|TLS \(SSL\) negotiation failed|TLS handshake (?:failed|error)|SSLCertVerificationError|curlCode: (?:35|51|58|60|77)\b",
    follows=re.compile(
        r"[Aa]ccess error|[Cc]ould not (?:receive|send|open|read|reach|fetch|connect|load)"
        r"|[Ff]ailed to (?:open|download|load|connect|fetch|read|get|list)|[Uu]nable to (?:open|load|connect)|[Mm]ax retries"
    ),
)
COLLECTIVE = Omen(
    r"NCCL WARN .{0,150}(?:[Ff]ail|[Ee]rror|[Mm]ismatch|[Nn]ot |No )",
    follows=re.compile(r"\bNCCL error\b|\bnccl\w{0,60}Error\b|ncclUnhandled"),
)
SYSTEM = Omen(rf"\w: (?:{_SYSTEM})|libnuma: (?:Error|Warning)|\bnumactl: ")
MISSING = Omen(
    r"[Ff]ailed to import|[Ee]rror importing|[Cc]ould not import|[Ff]ailed to load (?:the )?(?:plugin|library|extension|module)"
    r"|No module named|cannot import name|cannot open shared object file|undefined symbol|version `[^']{1,60}' not found",
    follows=re.compile(
        r"has no attribute|\bnot (?:available|supported|installed|defined|found|registered|implemented)|[Uu]navailable"
        r"|[Uu]nsupported|NoneType|^KeyError|^NameError|^NotImplementedError|\b[Nn]o (?:valid|suitable|such) |[Uu]nknown|[Mm]issing"
    ),
    by_name=True,
)
"""What could not be loaded is missing later, under the name of what it would have brought."""
OMENS = (PENDING, FABRIC, COLLECTIVE, TLS, SYSTEM, MISSING)
EXPRESSIONS = tuple(omen.line for omen in OMENS)
"""What is looked for in every line of a launch."""
