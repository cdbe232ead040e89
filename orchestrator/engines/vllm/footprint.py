"""What does vLLM leave on a host? Names and defaults are those of 0.16 to 0.33."""

from __future__ import annotations

from orchestrator.engines import pytorch
from orchestrator.on_host.footprint import CachePlace, Footprint, SharedNames


def _compiled(name: str) -> tuple[CachePlace, ...]:
    return (
        CachePlace("$VLLM_CACHE_ROOT", name, tilde=True, itself=True),
        CachePlace("cache", f"vllm/{name}"),
    )


FOOTPRINT = Footprint(
    called=r"\bvllm serve\b|\bvllm\.entrypoints\b|^VLLM::",
    mapped="/vllm/",
    shared_memory=(*pytorch.SHARED_MEMORY, SharedNames("vllm_", ("/vllm/", "/libtorch"))),
    caches=(_compiled("torch_compile_cache"), _compiled("torch_aot_compile"), *pytorch.CACHES),
)
