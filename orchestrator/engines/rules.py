"""Which options may a playbook hold, and which options and variables may a remedy touch?"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.engines.command_line import NAME, abbreviates, canonical, leaves
from orchestrator.on_host.secrets.names import is_secret
from orchestrator.on_host.secrets.secrets import brief

_LOADS_CODE = re.compile(r"plugin|module|cls$|class|passes|auto[-_]map|qualname|callable", re.IGNORECASE)
"""A key inside a value that names Python to be run, as reasoning_parser_plugin within structured_outputs_config does."""


@dataclass(frozen=True)
class ArgumentRules:
    """What one engine's options may be used for, by their canonical names; a star stands for any ending.

    `reserved`: what a playbook sets elsewhere, or nobody may set, with what to do instead. `personal`: who is let in, whose
    code and files are loaded, where something is sent: a person's to choose, a remedy leaves them alone, as it does all that
    is reserved but `adjustable`. `dropped_only` may name a model, a module or an address: a remedy takes it away, and never
    sets it. `by_name` may be a word of the engine's own, or the path of a class. `whole` are options of their own, though
    they abbreviate a personal one. `takes` says whether the engine has an option of that name at all, as far as that is known.
    """

    reserved: Mapping[str, str]
    adjustable: frozenset[str] = frozenset()
    personal: tuple[str, ...] = ()
    dropped_only: tuple[str, ...] = ()
    by_name: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    takes: Callable[[str], bool] = lambda _name: True

    def checked_name(self, name: Any) -> str:
        """The canonical name of an argument that a playbook may hold; ValueError says what to write instead."""
        if not isinstance(name, str):
            raise ValueError(f"{name!r} is not a name; write the option's long name without dashes")
        if name.startswith("-"):
            raise ValueError(f"write the option's long name without dashes: {name.lstrip('-') or '...'}")
        if not NAME.fullmatch(canonical(name)):
            raise ValueError(
                f"{brief(name, 60)!r} is not an option's long name; allowed: a-z, 0-9, - (max-num-seqs)"
            )
        for reserved, instead in self.reserved.items():
            if abbreviates(name.partition(".")[0], reserved):
                raise ValueError(f"is not set as an argument: {instead}")
        return canonical(name)

    def remedied(self, name: str, op: str, value: str | None = None) -> str:
        """The canonical name of an option that a remedy may set to a value, or take away (`op`); ValueError says why it may
        not."""
        bare = canonical(name.removeprefix("--"))
        if not name.startswith("--") or not NAME.fullmatch(bare):
            raise ValueError(f"{name[:60]!r} is not an option's long name; allowed: --NAME (--max-num-seqs)")
        head = bare.partition(".")[0].removeprefix("no-")
        if not self.takes(head):
            raise ValueError(f"the engine has no option --{head}; allowed: one that it has")
        if head in self.whole:
            return bare
        reserved = [option for option in self.reserved if option not in self.adjustable]
        for option in (*reserved, *self.personal, *(self.dropped_only if op == "set" else ())):
            family = option.removesuffix("*")
            if abbreviates(head, family) or (family != option and head.startswith(family)):
                raise ValueError(f"a remedy may not {op} --{bare}: --{option} is for a person to choose")
        for keys, leaf in leaves(bare, value if op == "set" else ""):
            if any(_LOADS_CODE.search(key) for key in keys) or (head in self.by_name and "." in str(leaf)):
                raise ValueError(
                    f"a remedy may not {op} --{bare} to what names code: that is for a person to choose"
                )
        return bare


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PERSONAL = re.compile(
    r"""
    (?:BASH_ENV|ENV|HOME|IFS|PATH|SHELL|VIRTUAL_ENV|GCONV_PATH|(?:DEPLOY|LD|DYLD|XDG)_\w+      # which programs and code
      |PYTHON(?!UTF8$|UNBUFFERED$|HASHSEED$|FAULTHANDLER$)\w*)                                 # run, and whose home it is
    |(?:HF|HUGGING_?FACE|TRANSFORMERS|MODELSCOPE|AWS|S3|GOOGLE|AZURE)_(?!HUB_DISABLE_XET$|HUB_(?:DOWNLOAD|ETAG)_TIMEOUT$
      |HUB_OFFLINE$|OFFLINE$|HUB_ENABLE_HF_TRANSFER$|XET_)\w*          # where files come from, who is told a token
    |\w*(?:PROXY|ENDPOINT|_URL|_URI|_SERVER)(?:_\w+)?|\w*(?:_HOST|_HOST_IP|_MASTER_IP|_ADDR|_ADDRESS)
    |(?:MASTER|UVICORN|OTEL|SSH|GIT|PIP|UV|CONDA|DOCKER|KUBE)_\w+
    |\w*(?:SSL|TLS|CERT|CA_BUNDLE|INSECURE|TRUST_REMOTE)\w*            # who is let in, who is believed
    |\w*_PLUGINS?
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Which programs and code run, whose home it is, where files come from, who is told a token, let in or believed."""


@dataclass(frozen=True)
class VariableRules:
    """Which variables of one engine's environment a remedy may touch.

    `dropped_only`: a remedy takes it away, and never sets it. `own`: only the engine and what it is built of read it, so such
    a name may come from a log, to be taken away.
    """

    own: re.Pattern[str]
    dropped_only: re.Pattern[str]

    def is_own(self, name: str) -> bool:
        return self.own.fullmatch(name) is not None

    def remedied(self, name: str, op: str, value: str | None = None) -> str:
        """The name of a variable that a remedy may set or take away (`op`); ValueError says why it may not."""
        if not _VARIABLE.fullmatch(name):
            raise ValueError(f"{name[:60]!r} cannot name a variable; allowed: letters, digits and _")
        switched_off = name.endswith("_PLUGIN") and value == "none"  # NCCL_NET_PLUGIN=none loads nothing
        personal = _PERSONAL.fullmatch(name) or (op == "set" and self.dropped_only.fullmatch(name))
        if is_secret(name) or (personal and not switched_off):
            raise ValueError(f"a remedy may not {op} {name}: it is for a person to choose")
        return name
