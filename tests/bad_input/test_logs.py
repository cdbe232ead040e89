"""A log that is no text, or that goes away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bad_input.refused import ONE_CARD, engine_that_first
from tests.deployments import Case

NOISE = r"""
import os, sys
out = sys.stdout.buffer
out.write(b"\x1b[31mred\x1b[0m \x1b]0;title\x07\r 10%\r 20%\r\n")
out.write(b"\xff\xfe\x80 no text \x00\n")
out.write(b"x" * 3_000_000 + b"\n")
out.flush()
"""
LOG = "os.readlink('/proc/self/fd/1')"


def test_bytes_of_every_kind(whole: Case, tmp_path: Path) -> None:
    whole.content |= {"engine": {"python": engine_that_first(tmp_path, NOISE)}, **ONE_CARD}
    whole.write()
    try:
        left = whole.deploy("PLAYBOOK")
        assert left.code == 0, left.out[-2000:] + left.err
        assert "\x1b" not in left.out + left.err and "\x07" not in left.out
        log = (whole.state / "launches" / "1" / "vllm.log").read_bytes()
        assert b"x" * 3_000_000 in log
        shown = whole.deploy("logs", "PLAYBOOK")
        assert shown.code == 0
    finally:
        whole.deploy("stop", "PLAYBOOK")


@pytest.mark.parametrize("act", ["truncate({}, 0)", "unlink({})"], ids=["truncated", "deleted"])
def test_a_log_that_goes_away_while_it_is_followed(whole: Case, tmp_path: Path, act: str) -> None:
    gone = f"import os, time\nprint('soon gone', flush=True)\ntime.sleep(0.2)\nos.{act.format(LOG)}\n"
    whole.content |= {"engine": {"python": engine_that_first(tmp_path, gone)}, **ONE_CARD}
    whole.write()
    try:
        left = whole.deploy("PLAYBOOK", "--json")
        assert left.code == 0, left.out[-2000:] + left.err
        assert whole.actions().count("launch") == 1
        shown = whole.deploy("logs", "PLAYBOOK")
        assert shown.code == (2 if "unlink" in act else 0), shown.err
        assert "soon gone" not in shown.out
    finally:
        whole.deploy("stop", "PLAYBOOK")
