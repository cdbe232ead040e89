"""What does any engine leave on a host that runs on PyTorch: by Python, NCCL, Triton and FlashInfer as well as by itself?

Defaults and variables are those of Triton 2 and 3, PyTorch 2 and FlashInfer 0.2 to 0.6.
"""

from __future__ import annotations

from orchestrator.on_host.footprint import CachePlace, SharedNames

_TRITON = r"[A-Z2-7]{52}|[0-9a-f]{64}"  # a sha256 in base 32 (3.x) or 16 (2.x)
_INDUCTOR = r"[0-9a-z]{2}|fxgraph|aotautograd|triton|locks"
_IN_INDUCTOR = (  # c2/cc2NRT...: two letters of the hash; a folder ~/go, a clone ~/triton has other names in it
    r"([0-9a-z]{2})/[a-z]\1[a-z2-7]{20,}.*|\w+/\.\d+\.\d+\.tmp|\w{3,}/([0-9a-z]{1,2}|[a-z2-7]{40,}.*|[A-Z2-7]{52})"
)
_FLASHINFER = (
    r"\d[\w.+]*|generated|cached_ops"  # not the cubins: fetched, a host without a network has them once
)

SHARED_MEMORY = (
    SharedNames("psm_", ("/_posixshmem.",)),
    SharedNames("sem.mp-", ("/_multiprocessing.",)),
    SharedNames("sem.loky-", ("/_multiprocessing.",)),
    SharedNames("nccl-", ("/libnccl", "/libtorch")),
    SharedNames("torch_", ("/libtorch", "/libshm")),
)
CACHES = (
    (
        CachePlace("$FLASHINFER_WORKSPACE_BASE", ".cache/flashinfer", entries=_FLASHINFER),
        CachePlace("home", ".cache/flashinfer", entries=_FLASHINFER),
    ),
    (
        CachePlace("$TRITON_CACHE_DIR", itself=True, entries=_TRITON),
        CachePlace("$TRITON_HOME", ".triton/cache", tilde=True),
        CachePlace("home", ".triton/cache"),
    ),
    (
        CachePlace("$TORCHINDUCTOR_CACHE_DIR", itself=True, entries=_INDUCTOR, inside=_IN_INDUCTOR),
        CachePlace("temporary", "torchinductor_{user}"),
    ),
)
