"""What does the sentence of a failure itself ask for, and does the answer begin with that?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from orchestrator.diagnosis.verdict import Diagnosis

_ASKS = re.compile(
    r"(?<!to )\b(?:[Ss]et(?:ting)?|[Uu]se|[Pp]ass(?:ing)?|[Ii]ncreas(?:e|ing)|[Dd]ecreas(?:e|ing)|[Rr]educ(?:e|ing)|[Ll]ower(?:ing)?|[Rr]aise|"
    r"[Ii]nstall|[Uu]pdate|[Uu]pgrade|[Uu]nset|[Rr]emove|[Aa]dd|[Ss]pecify|(?:[Rr]e-?run|[Rr]elaunch|[Ll]aunch|[Rr]un(?:ning)?) with(?:out)?)\b"
    r"[^.;:()\[\]]{0,60}?(?P<name>--[a-z][\w-]{2,60}|\b[A-Z][A-Z0-9]{1,20}_[A-Z0-9_]{2,60}\b|pip install (?:-\S{1,20} )?[\w.]{2}[\w.-]{0,40}|"
    r"`[a-z][a-z_]{3,40}`|(?<!')\b[a-z]{2,20}(?:_[a-z]{2,20}){1,4}\b)"
)
"""A verb of asking, and what it asks for by its name."""
_BESIDE_THE_POINT = {
    "cuda_launch_blocking", "torch_use_cuda_dsa", "pytorch_cuda_alloc_conf", "pytorch_alloc_conf", "torchdynamo_verbose", "nccl_debug",
    "num_stages", "repo_type", "repo_id", "local_files_only", "conch_triton_kernels",
    "amd_serialize_kernel", "torch_logs",
}  # fmt: skip
"""What PyTorch, Triton, NCCL and the Hub's client say below any error of theirs, what nobody can set from outside, and what one
of several kernels would want."""
_BEGINNING = 320
"""Letters of the advice that are its beginning."""


def unheeded(found: Diagnosis, never: Sequence[str]) -> set[str]:
    """What the cause's own sentence asks for ("please set X"), where neither the action nor the beginning of the advice has any of
    it; what the patch says is `never` to be done is rightly left out."""
    if found.verdict != "fault" or found.finding is None or found.remedy is None or found.root_cause is None:
        return set()
    asked = set(_asked(found.root_cause.text))
    beginning = " ".join(found.remedy.advice[:1])[:_BEGINNING]
    answer = _plain(" ".join((str(found.remedy.actions), beginning, *never)))
    return set() if any(name in answer for name in asked) else asked


def _asked(text: str) -> Iterator[str]:
    for match in _ASKS.finditer(" ".join(text.split())):
        name = _plain(match["name"].rpartition(" ")[2]).strip("_")
        if len(name) > 1 and name not in _BESIDE_THE_POINT:
            yield name


def _plain(text: str) -> str:
    return text.lower().replace("-", "_").replace("`", "")
