"""Which milestones does a start of SGLang pass, and with which words does another one begin?"""

from __future__ import annotations

import re
from types import MappingProxyType

from orchestrator.engines.log_grammar import Start
from orchestrator.engines.sglang.log import portrait

_MILESTONES = re.compile(
    r"(?P<up>The server is fired up and ready to roll!|^Decode batch.{0,400}gen throughput)"
    r"|(?P<starting_server>Started server process \[|Application startup complete\.|Uvicorn running on |Engine startup timings \(s\):)"
    r"|(?P<capturing_graphs>^Capture .{0,40}graph (?:begin|end|bs)|Capturing batches|Capturing num tokens)"
    r"|(?P<allocating_kv_cache>KV Cache is allocated\. |Memory pool end\. |^max_total_num_tokens=)"
    r"|(?P<loading_weights>^Load weight (?:begin|end)|[Ll]oading (?:safetensors|pt) checkpoint|Multi-thread loading)"
    r"|(?P<downloading>\.safetensors: {1,8}\d{1,3}%)"
    r"|(?P<starting_workers>^Init torch distributed (?:begin|ends)|sglang is using nccl)"
    r"|(?P<configuring>^server_args=)"
)

START = Start(
    phases=(
        "starting", "configuring", "starting workers", "downloading", "loading weights", "allocating kv cache", "capturing graphs",
        "starting server", "up",
    ),
    milestones=_MILESTONES,
    hints=(
        "fired up", "Decode batch", "Started server", " startup ", "Uvicorn running", "Captur", "KV Cache is", "Memory pool end",
        "max_total_num_tokens=", "Load weight", "oading ", ".safetensors: ", "torch distributed", "using nccl", "server_args=",
    ),
    counted=frozenset(("loading weights", "downloading", "capturing graphs")),
    begins=re.compile(r"server_args=(?:ServerArgs\(|\{)"),
    begin_hints=("server_args=",),
    starters=re.compile(r"^$"),  # no record names its file
    stopping=re.compile(r"^Gracefully exiting\.\.\.|^SIGTERM received\.|^INFO: +Shutting down$"),
    stop_hint="ing",
    portrait=portrait.of_a_milestone,
    commanded=portrait.commanded,
    detail=portrait.of_a_detail,
    detail_hints=portrait.DETAIL_HINTS,
    details=portrait.DETAILS,
    commands=portrait.COMMANDS,
    meeting=re.compile(r"^Init torch distributed (?:begin(?P<place>)|ends(?P<met>))"),
    shares=("tp_size", "pp_size"),
    shown="mem_fraction_static",
    # kernels compile while graphs are captured: 22 minutes were seen
    silence=MappingProxyType({"capturing graphs": 1800.0, "loading weights": 900.0, "downloading": 900.0}),
)  # fmt: skip
