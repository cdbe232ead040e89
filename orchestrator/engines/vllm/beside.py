"""What does a command line name beside the model, from where the consent to run the model's code would run code too?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.engines.command_line import abbreviates, leaves, options

_COMMIT = re.compile(r"[0-9a-f]{40}")


def named_beside(argv: Sequence[str], folder: str) -> Iterator[str]:
    """Repositories, folders and options of which no commit says which code they are; `folder` is the model's own."""
    given = dict(options(argv))
    for name, value in options(argv):
        head, *_ = name.split(".")
        inner = tuple(leaves(name, value))
        if "auto_map" in name or any("auto_map" in keys for keys, _ in inner):
            yield f"--{name}"
        if not head:
            continue
        if head == "tokenizer" or (head.startswith("hf-c") and abbreviates(head, "hf-config-path")):
            pinned = _COMMIT.fullmatch(given.get(f"{head}-revision") or "")
            drafts = [] if pinned else [value]
        elif head == "spec-model":
            drafts = [value]
        elif head.startswith("spec") and abbreviates(head, "speculative-config"):
            draft = {".".join(keys): leaf for keys, leaf in inner}
            drafts = [] if _pinned(draft) else [draft.get("model")]
        else:
            continue
        yield from (str(other) for other in drafts if other and other != folder)


def _pinned(draft: Mapping[str, Any]) -> bool:
    return bool(_COMMIT.fullmatch(str(draft.get("code_revision") or draft.get("revision"))))
