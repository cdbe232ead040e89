"""A patch of one's own whose expression could hang is told at once, whatever command reads it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("pattern", ["(a+)+$", "(?:a|aa)+$", "a*a*a*a*a*b"])
def test_an_expression_that_could_hang(tmp_path: Path, pattern: str) -> None:
    log, patches = tmp_path / "vllm.log", tmp_path / "patches"
    patches.mkdir()
    (patches / "mine.yaml").write_text(
        f"id: mine\ntitle: Mine\ncategory: other\nmatch:\n  - pattern: '{pattern}'\n"
    )
    log.write_text(
        f'Traceback (most recent call last):\n  File "x.py", line 1, in f\nValueError: {"a" * 40}!\n'
    )
    said = subprocess.run(
        [sys.executable, "-m", "orchestrator.cli.main", "diagnose", str(log), "--patches", str(patches)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert said.returncode == 2, said
    told = " ".join(said.stderr.split())
    assert "mine.yaml:5: match.0.pattern:" in told
    assert "allowed: repetitions with an end" in told
