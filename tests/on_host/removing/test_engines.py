"""Which processes are engines."""

from __future__ import annotations

import pytest

from orchestrator.engines.vllm.footprint import FOOTPRINT
from orchestrator.on_host.removing import engines


@pytest.mark.parametrize(
    ("command", "maps", "engine"),
    [
        ("/opt/venv/bin/python /opt/venv/bin/vllm serve m", b"", True),
        ("python -m vllm.entrypoints.openai.api_server --model m", b"", True),
        ("VLLM::EngineCore", b"", True),
        (
            "python serve.py",
            b"7f00 r-xp 0 0:1 7 /opt/venv/lib/python3.12/site-packages/vllm/_C.abi3.so",
            True,
        ),
        ("vim vllm.py", b"", False),
        ("tail -f vllm.log", b"", False),
        ("python notebook.py", b"7f00 r-xp 0 0:1 7 /opt/venv/lib/libtorch.so", False),
    ],
)
def test_what_an_engine_is_told_by(command: str, maps: bytes, engine: bool) -> None:
    assert engines.is_engine(command, maps, FOOTPRINT) is engine
