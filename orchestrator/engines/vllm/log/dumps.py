"""How do processes of vLLM dump their stacks, and what do frames of its own show?"""

from __future__ import annotations

import re

from orchestrator.engines.log_grammar import Dumps

DUMPS = Dumps(
    # the watchdog of 0.33 (utils/watch_dog.py) appends to its file, also where it is told to stop ("SIGTERM", "shutdown")
    begins=re.compile(r"^>>> Call stack dump #\d{1,9} at .{1,60} due to (?P<why>\S.{0,80})$"),
    stalled="feed timeout",
    named=re.compile(r"VLLM_STACK_DUMP_for_(?P<name>[\w.-]{1,60})_(?P<pid>\d{1,10})\.log$"),
    places=(
        ("message", r"/shm_broadcast\.py |/zmq/"),
        (
            "collective",
            r"/device_communicators/|/parallel_state\.py (?:all_|broadcast|barrier|send|recv|gather|reduce)",
        ),
        (
            "rendezvous",
            r"/parallel_state\.py (?:init_|_create)|/distributed/utils\.py (?:create|stateless_|\w*barrier)",
        ),
        ("compile", r"/flashinfer/(?:jit|compilation)|/flashinfer/autotuner"),
        ("file", r"/model_loader/(?:weight_utils|\w*load\w*|sharded_state\w*|tensorizer\w*)\.py "),
    ),
)
