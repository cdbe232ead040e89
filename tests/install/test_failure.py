"""What is typed after an installation that failed."""

from __future__ import annotations

import pytest

from orchestrator.install.failure import failure
from orchestrator.playbook.pinned import PinnedEngine


@pytest.mark.parametrize(
    ("code", "command"),
    [
        ("install_no_space", "df -h '/e x'  # on gpu7"),
        ("index_unreachable", "curl -sS https://i/simple/vllm/  # on gpu7"),
        ("index_refused", "curl -sS https://i/simple/vllm/  # on gpu7"),
        ("engine_not_found", "curl -sS https://i/simple/vllm/  # on gpu7"),
        ("uv_missing", "python3 -m pip install --user uv  # on gpu7"),
        ("install_no_python", "ls -l /usr/bin/python3*  # on gpu7"),
        ("engine_check", "less '/e x/install.log'  # on gpu7"),
    ],
)
def test_a_failure_says_what_to_type(code: str, command: str) -> None:
    error = failure(
        code, "it went wrong", PinnedEngine("vllm", "0.16.0"), "gpu7", room="/e x", index="https://i/simple"
    )
    assert (error.code, error.exit_code, error.next_command) == (code, 4, command)
    assert error.message == "gpu7: vllm==0.16.0: it went wrong"


def test_a_wheel_that_is_missing_here_is_fetched_here() -> None:
    error = failure(
        "engine_not_found",
        "x",
        PinnedEngine("vllm", "0.16.0"),
        "gpu7",
        room="/e",
        index="https://i/simple",
        wheels="/w x",
    )
    assert error.next_command == "python3 -m pip download --only-binary=:all: -d '/w x' vllm==0.16.0"
