"""What do the libraries under an engine do in which of their source files, and what do they wait for there?"""

from __future__ import annotations

import re

from orchestrator.engines.log_grammar import Doing
from orchestrator.engines.waits import Wait

LIBRARIES = tuple(
    Doing(re.compile(frame), words)
    for frame, words in (
        (r"<frozen importlib|/importlib/", "importing a module"),
        (r"/argparse\.py:", "reading its command line"),
        (r"/torch/(?:_dynamo|_inductor|_functorch|fx)/", "compiling the model (torch.compile)"),
        (r"/torch/distributed/.*:(?:init_process_group|rendezvous|_new_process_group|_create_c10d_store)", "joining the other ranks"),
        (r"/torch/distributed/", "talking to the other ranks"),
        (r"/torch/cuda/", "setting up a GPU"),
        (r"/triton/", "compiling a Triton kernel"),
        (r"/huggingface_hub/", "fetching from the Hub"),
        (r"/safetensors/", "reading a safetensors file"),
        (r"/tokenization_|/tokenizers?/", "loading the tokenizer"),
        (r"/transformers/.*(?:configuration_|config)", "reading the model's config"),
        (r"/transformers/.*(?:processing_|processor)", "loading the model's processor"),
        (r"/ray/", "calling Ray"),
        (r"/multiprocessing/.*:(?:_launch|start|Popen)", "starting a process"),
    )
)  # fmt: skip
WAITS: tuple[tuple[Wait, str], ...] = (
    (
        "rendezvous",
        r"torch/distributed/(?:rendezvous|elastic)|init_process_group$|_store_based_barrier$|_create_c10d_store$",
    ),
    (
        "collective",
        r"torch/distributed/\S{0,200} (?:all_\w+|broadcast\w*|barrier|monitored_barrier|reduce\w*|gather\w*|scatter\w*|send\w*|recv\w*|batch_\w+|wait)$"
        r"|nccl\S{0,80} nccl\w+$|\bnccl(?:All|Group|Comm|Send|Recv|Broadcast|Reduce)\w*$|libnccl",
    ),
    (
        "kernel",
        r"torch/cuda/(?:__init__|streams|graphs)\.py (?:synchronize|replay|wait)$|(?:cuda\w*Synchronize|cuStreamSynchronize)\w*$",
    ),
    ("lock", r"filelock/|/file_baton\.py|fcntl|\bflock$"),
    (
        "compile",
        r"torch/_(?:inductor|dynamo|functorch)/|torch/utils/(?:cpp_extension|_triton)|triton/(?:compiler|runtime|backends)/|/ninja/"
        r"|deep_gemm/|/tilelang/|/cutlass/|tvm/",
    ),
    ("hub", r"huggingface_hub/|hf_xet|modelscope/"),
    (
        "file",
        r"safetensors/|torch/serialization|/mmap|fastsafetensors|runai_model_streamer|/gguf/|tensorizer/",
    ),
    ("import", r"importlib"),
)
"""What a frame of a process that stands still shows that it waits for, by "FILE FUNCTION"; the first that fits."""
