"""Which variables of the engine's environment may a remedy touch?"""

from __future__ import annotations

import re

from orchestrator.on_host.secrets.names import is_secret

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
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
_DROPPED_ONLY = re.compile(
    r"\w*(?:_SO_PATH|_FRONTEND_PATH|_REDIRECT_PATH|_CONFIG_PATH|_CONFIG_ROOT)"
    r"|VLLM_(?:ALLOW_(?!LONG_MAX_MODEL_LEN$|CHUNKED_)|SERVER_DEV_MODE|USE_MODELSCOPE|LORA_RESOLVER|RAY_EXTRA)\w*"
)
_OF_THE_ENGINE = re.compile(r"(?:VLLM|NCCL|TORCH|PYTORCH|TRITON|FLASHINFER|RAY|CUDA)_\w+")


def remedied_variable(name: str, op: str, value: str | None = None) -> str:
    """The name of a variable that a remedy may set or take away (`op`); ValueError says why it may not."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name[:60]!r} cannot name a variable; allowed: letters, digits and _")
    switched_off = name.endswith("_PLUGIN") and value == "none"  # NCCL_NET_PLUGIN=none loads nothing
    personal = _PERSONAL.fullmatch(name) or (op == "set" and _DROPPED_ONLY.fullmatch(name))
    if is_secret(name) or (personal and not switched_off):
        raise ValueError(f"a remedy may not {op} {name}: it is for a person to choose")
    return name


def of_the_engine(name: str) -> bool:
    """Whether only the engine and what it is built of read it: such a name may come from a log, to be taken away."""
    return _OF_THE_ENGINE.fullmatch(name) is not None
