"""The code that reads logs knows no engine: what one says stands in the grammar of its log."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import orchestrator.diagnosis

ROOM = Path(orchestrator.diagnosis.__file__).parent
WORDS = re.compile(
    r"""vllm|sglang                                                            # names, variables, packages
    |engine\s?core|worker_?(?:proc|tp|dp)|api_?server|async_?llm|mqengine|raylet|rayworker   # processes and classes
    |\b(?:core|utils|multiproc\w*|llm_engine|async_llm|launcher)\.py                       # files
    |kv_cache_dtype|tensor_parallel|pipeline_parallel|max[-_]model[-_]len|gpu[-_]memory[-_]utili[sz]ation   # options
    |non-default\ args|fired\ up|failed\ core|stack\ trace|broadcast\ block|cuda\ graph|attention\ backend|safetensors
    |prompt\ throughput|received\ request|application\ startup                              # sentences
    """,
    re.VERBOSE | re.IGNORECASE,
)
FILES = sorted(ROOM.glob("**/*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_file_names_what_one_engine_says(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    named = [(number, found[0]) for number, line in enumerate(lines, 1) if (found := WORDS.search(line))]
    assert named == []


def test_the_room_is_there() -> None:
    assert len(FILES) > 10
    assert WORDS.search("EngineDeadError: EngineCore encountered an issue")
