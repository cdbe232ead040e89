"""Which processes of SGLang speak in its log?"""

from __future__ import annotations

import re

from orchestrator.engines.log_grammar import ProcessNames

_CHILDREN = ("DP", "PP", "TP", "EP", "ATTN_CP", "MOE_DP", "scheduler", "detokenizer", "encode")

PROCESSES = ProcessNames(
    front=("tokenizer",),
    children=_CHILDREN,
    speaking=(*_CHILDREN, "data parallel controller", "tokenizer manager", "main process"),
    files=re.compile(r"(?!)"),  # no record names its file
    named=re.compile(rb"(?P<name>(?!))(?P<pid>)"),
    alone="scheduler",
)
