"""What do the libraries under an engine do in which of their source files, in words for somebody who has only frames?"""

from __future__ import annotations

import re

from orchestrator.engines.log_grammar import Doing

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
