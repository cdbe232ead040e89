"""How does a log of SGLang 0.5 read? A second grammar, by which the code that reads logs is tried.

Its records have a time and ranks but no level and no file, and one header for all lines of a record.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from types import MappingProxyType

from orchestrator.engines.log_grammar import (
    Clients,
    Failures,
    Head,
    LogGrammar,
    Portrait,
    ProcessNames,
    Pulse,
    Records,
    Start,
)

_HEADER = re.compile(
    r"\[\d{4}-(?P<time>\d\d-\d\d \d\d:\d\d:\d\d)(?: (?P<ranks>(?:(?:DP|PP|TP|EP)\d+ ?)+))?\] (?=\S)"
)
_ARGUMENTS = re.compile(r"server_args=(?P<given>\{.*\})$")
_TOKENS = re.compile(r"KV Cache is allocated\. #tokens: (?P<tokens>\d{1,12})")
_RANKS = ("DP", "PP", "TP", "EP")


def _head(text: str) -> Head:
    found = _HEADER.match(text)
    if found is None:
        return Head(None, None, None, None, None, text)
    return Head(found["ranks"] or None, None, "", found["time"], None, text[found.end() :])


def _portrait(text: str) -> Portrait:
    given, tokens = _ARGUMENTS.search(text), _TOKENS.search(text)
    return Portrait(
        arguments=_listed(given["given"]) if given else None,
        settings=_listed(given["given"]) if given else None,
        kv_tokens=int(tokens["tokens"]) if tokens else None,
    )


def _listed(text: str) -> Mapping[str, str]:
    return MappingProxyType({str(key): str(value) for key, value in ast.literal_eval(text).items()})


SGLANG = LogGrammar(
    "sglang",
    Records(_head, goes_on=True),
    ProcessNames(
        front=("tokenizer",),
        children=_RANKS,
        speaking=_RANKS,
        files=re.compile(r"(?!)"),
        named=re.compile(rb"^(?P<name>(?!))(?P<pid>)"),
    ),
    Clients(sentences=("Receive: obj=", "Finish: obj="), sources=re.compile(r"(?!)"), request="Receive: obj="),
    Start(
        phases=(
            "starting", "configuring", "starting workers", "loading weights", "allocating kv cache", "capturing graphs",
            "starting server", "up",
        ),
        milestones=re.compile(
            r"(?P<up>The server is fired up and ready to roll!)"
            r"|(?P<starting_server>Started server process \[|Engine startup timings \(s\):)"
            r"|(?P<capturing_graphs>Capture cuda graph (?:begin|end)|Capturing batches)"
            r"|(?P<allocating_kv_cache>KV Cache is allocated\. )"
            r"|(?P<loading_weights>Load weight (?:begin|end)|Loading safetensors checkpoint shards)"
            r"|(?P<starting_workers>Init torch distributed (?:begin|ends))"
            r"|(?P<configuring>^server_args=)"
        ),
        hints=("fired up", "Started server", "startup timings", "Captur", "KV Cache is", "Load", "torch distributed", "server_args="),
        counted=frozenset(("loading weights", "capturing graphs")),
        begins=re.compile(r"server_args=\{"),
        begin_hints=("server_args=",),
        starters=re.compile(r"^$"),
        stopping=re.compile(r"Gracefully exiting\.\.\.|^INFO: +Shutting down$"),
        stop_hint="ing",
        portrait=_portrait,
        shares=("tp_size", "pp_size"),
        shown="kv_cache_dtype",
    ),
    Failures(
        wrappers=re.compile(r"Rank \d+ scheduler (?:is dead|died)|Initialization failed\. Please see the error messages above"),
        titles=re.compile(r"Scheduler hit an exception"),
        fatal_titles=re.compile(r"(?:Scheduler|TokenizerManager|DataParallelController) hit an exception"),
        asides=re.compile(r"Capturing batches"),
        programs=("sglang", "launch_server"),
        crashes=re.compile(r"No module named '?sglang'?$"),
        deaths=re.compile(r"^Received sigquit from a child process"),
        crash_hints=("No module", "sigquit"),
    ),
    Pulse(
        asked=re.compile(r'"GET /(?:health|health_generate|ready|model_info)\b'),
        idle=re.compile(r"#running-req: (?P<running>\d{1,9}), .{0,200}gen throughput \(token/s\): 0\.00"),
    ),
)  # fmt: skip
