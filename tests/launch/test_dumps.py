"""Which stacks that were left may say what a launch waits for now."""

from __future__ import annotations

import pytest

from orchestrator.launch import dumps
from orchestrator.programs.stacks import DumpFile
from tests.jobs import Answering, job

FILES = [
    {"name": f"VLLM_STACK_DUMP_for_worker_{age}_1.log", "age_seconds": age, "text": ""}
    for age in (10.0, 5000.0)
]


@pytest.mark.parametrize(("served", "count"), [(False, 2), (True, 1)])
def test_of_a_server_only_those_that_were_written_lately(served: bool, count: int) -> None:
    kept = dumps.left(job(Answering(stacks={"files": FILES})), 3, served=served)
    assert kept == tuple(DumpFile(**file) for file in FILES[:count])
