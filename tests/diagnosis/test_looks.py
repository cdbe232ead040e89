"""A file that no engine wrote is called what it looks like, and no log of an engine is taken for one."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from pathlib import Path

import pytest

from orchestrator.diagnosis import looks
from orchestrator.engines.sglang.log.grammar import GRAMMAR as SGLANG
from orchestrator.engines.vllm.log.grammar import GRAMMAR as VLLM
from tests.diagnosis.labels import CASES, expected
from tests.diagnosis.labels import log as log_of

ROOT = Path(__file__).parents[2]
LOG = b"(APIServer pid=7) INFO 02-20 21:34:40 [api_server.py:1] vLLM API server version 0.16.0\n"


def look(beginning: bytes) -> str | None:
    return looks.of_another_kind(beginning, [VLLM, SGLANG])


@pytest.mark.parametrize(
    ("beginning", "name"),
    [
        (b"", "is empty"),
        (b"\n \n\r\n", "has nothing but blank lines"),
        (b"hi\n", "looks like text of another kind"),
        (gzip.compress(LOG, mtime=0), "gzip data (zcat unpacks it)"),
        (bz2.compress(LOG), "bzip2 data"),
        (lzma.compress(LOG), "xz data"),
        (b"x" * 257 + b"ustar\x0000" + b"\0" * 99, "a tar archive"),
        (b"\x08\0\0\0\0\0\0\0{}\0\0" * 9, "binary data"),
        (json.dumps({"architectures": ["LlamaForCausalLM"]}, indent=2).encode(), "a JSON document"),
        (b"<!DOCTYPE html>\n<html>\n<body>\nx\n</body>\n", "an HTML page"),
        (b"[    0.000000] Linux version 6.8.0\n[    1.204711] pci 0000:00:1f.0\n", "the kernel's log"),
        (b"Feb 20 21:34:40 gpu7 kernel: NVRM: loading NVIDIA UNIX\n" * 3, "the kernel's log"),
        (b'10.0.0.7 - - [20/Feb/2026:21:34:40 +0000] "GET / HTTP/1.1" 200 612 "-" "curl/8"\n' * 3, "an access log of a web server"),
        (b"2026/02/20 21:34:40 [error] 31#31: *7 connect() failed while connecting to upstream\n", "an error log of nginx"),
        (b"model:\n  repository: a/b\nport: 8000\n# comment\nlist:\n- x\n", "a YAML file"),
        ((ROOT / "README.md").read_bytes(), "a Markdown text"),
        ((ROOT / "orchestrator/diagnosis/looks.py").read_bytes(), "source code"),
        ((ROOT / "playbooks/kimi-k2.5.yaml").read_bytes(), "a YAML file"),
    ],
)  # fmt: skip
def test_what_it_looks_like(beginning: bytes, name: str) -> None:
    assert name in (look(beginning) or "")


def test_a_log_is_none_of_these() -> None:
    starting = [case for case in CASES if expected(case)["verdict"] in ("starting", "hang")]
    assert {case.id: name for case in starting if (name := look(log_of(case)[: 256 << 10]))} == {}
    for line in (
        LOG,
        b"Loading safetensors checkpoint shards:  50% Completed | 4/8 [00:18<00:12,  3.75s/it]\n",
        b'INFO:     10.0.0.7:40112 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n',
        b"(Worker_TP4 pid=9) something\n",
        b"[2026-02-20 21:34:40 TP0] Load weight begin. avail mem=78.5 GB\n",
    ):
        assert look(b"hi\n" + line) is None
    assert look(b'{"level": "info", "ts": "2026-02-20T21:34:40Z", "msg": "leader elected"}\n' * 2) is not None
