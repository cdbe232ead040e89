"""What does SGLang's log tell of the launch: its settings, sizes, attention backend?

It prints every setting as it was resolved, so that nobody knows which were given, unless a shell echoed the command.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from types import MappingProxyType

from orchestrator.engines.log_grammar import Portrait

_SETTINGS = re.compile(r"^server_args=(?:ServerArgs\((?P<listed>.*)\)|(?P<dict>\{.*\}))$")
_SETTING = re.compile(r"(?P<key>\b[a-z]\w{0,80})=(?:'(?P<quoted>[^']*)'|(?P<plain>[^,()\s]+))")
_PAIR = re.compile(r"'(?P<key>\w{1,80})': (?P<value>'[^']*'|\"[^\"]*\"|\[[^\]]{0,2000}\]|[^,}\s]+)")
_TOKENS = re.compile(r"(?:KV Cache is allocated\. #tokens: |^max_total_num_tokens=)(?P<tokens>\d{1,12})")
_VERSION = re.compile(r"^sglang: (?P<version>\d{1,4}\.\d{1,4}[\w.+-]{0,80})$")
_CAPABILITY = re.compile(r"^- Compute capability: (?P<major>\d{1,2})(?P<minor>\d)$")
_BACKEND = re.compile(r"\bUse (?P<backend>[a-z]\w{1,40}) (?:attention )?backend\b")
_COMMAND = re.compile(
    r"^[+$#>] ?(?:nohup |exec |sudo |env ){0,8}(?:(?:\S{0,400}/)?sglang serve |\S{0,400}python\S{0,40} -m sglang\.launch_server )"
)
_FLAG = re.compile(r"--(?P<name>[A-Za-z][\w-]*)(?:[= ](?P<value>'[^']*'|\"[^\"]*\"|(?!--)\S+))?")

DETAIL_HINTS = ("sglang: ", "Compute capability: ", " backend")
DETAILS = (
    _VERSION.pattern,
    _CAPABILITY.pattern,
    _BACKEND.pattern,
)
COMMANDS = (r"sglang serve | -m sglang\.launch_server",)


def of_a_milestone(text: str) -> Portrait:
    """What a milestone tells."""
    listed, tokens = _SETTINGS.match(text), _TOKENS.search(text)
    return Portrait(
        settings=MappingProxyType(_of(listed["listed"], listed["dict"])) if listed else None,
        kv_tokens=int(tokens["tokens"]) if tokens else None,
    )


def of_a_detail(text: str) -> Portrait:
    """What any other line of a start tells."""
    version, capability, backend = _VERSION.match(text), _CAPABILITY.match(text), _BACKEND.search(text)
    return Portrait(
        version=version["version"] if version else None,
        compute_cap=f"{capability['major']}.{capability['minor']}" if capability else None,
        attention_backend=backend["backend"] if backend else None,
    )


def commanded(text: str) -> Mapping[str, str] | None:
    """The arguments of the command that a shell echoed, where it starts a server of SGLang."""
    if not _COMMAND.match(text):
        return None
    return MappingProxyType(
        {
            flag["name"].replace("-", "_"): (flag["value"] or "True").strip("'\"")
            for flag in _FLAG.finditer(text)
        }
    )


def _of(listed: str | None, written: str | None) -> Mapping[str, str]:
    """Older releases print them as a class prints itself, 0.5.23 as a dictionary does."""
    if listed is not None:
        pairs = [(each["key"], each["quoted"] or each["plain"] or "") for each in _SETTING.finditer(listed)]
        return dict(reversed(pairs))  # of a name that is nested too, the first counts
    try:
        return {str(key): str(value) for key, value in ast.literal_eval(written or "{}").items()}
    except (ValueError, SyntaxError, MemoryError, RecursionError, AttributeError):
        return {pair["key"]: pair["value"].strip("'\"") for pair in _PAIR.finditer(written or "")}
