"""The oracle's answers, asked of the real engine that DEPLOY_TEST_ENGINE names."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.engines.kv_cache.folders import write

ORACLE = Path(__file__).parent / "oracle.py"
NO_ENGINE = "DEPLOY_TEST_ENGINE" not in os.environ


def engine_answers(where: Path, folders: Mapping[str, Mapping[str, bytes]]) -> list[dict[str, Any]]:
    """One answer a folder, in their order."""
    command = [os.environ["DEPLOY_TEST_ENGINE"], str(ORACLE), *write(where, folders)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, cwd=where).stdout.splitlines()
    return [json.loads(line) for line in lines]
