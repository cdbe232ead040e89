"""Which of SGLang's options may a remedy touch?"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from orchestrator.engines.rules import ArgumentRules


@cache
def _names() -> frozenset[str]:
    return frozenset(json.loads(Path(__file__).with_name("options.json").read_text("utf-8"))["names"])


RULES = ArgumentRules(
    reserved={
        "model-path": "the model is a person's to choose",
        "model": "the model is a person's to choose",
        "served-model-name": "clients ask by it",
        "host": "where it listens is a person's to choose",
        "port": "where it listens is a person's to choose",
        "api-key": "who is let in is a person's to choose",
        "admin-api-key": "who is let in is a person's to choose",
        "config": "a second file of arguments would hide them",
    },
    personal=(
        "ssl-*", "enable-ssl-refresh", "tokenizer-path", "revision", "chat-template", "completion-template", "download-dir",
        "dist-init-addr", "load-format", "custom-weight-loader", "forward-hooks", "file-storage-path", "json-model-override-args",
        "tool-server", "otlp-traces-endpoint", "oltp-traces-endpoint", "crash-dump-folder", "tensor-parallel-size", "tp-size",
        "pipeline-parallel-size", "pp-size", "data-parallel-size", "dp-size", "expert-parallel-size", "ep-size", "nnodes",
        "node-rank",
    ),
    dropped_only=("speculative-draft-model-path", "lora-paths", "quantization-param-path", "model-loader-extra-config"),
    takes=lambda name: name in _names(),
)  # fmt: skip
