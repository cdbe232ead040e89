"""What uv prints when it fails, as uv 0.13 prints it, and what that is called."""

from __future__ import annotations

import errno

import pytest

from orchestrator.on_host.environments import failure


@pytest.mark.parametrize(
    ("printed", "code"),
    [
        (
            "  × No solution found when resolving dependencies:\n"
            "  ╰─▶ Because there is no version of vllm==0.99.0 and you require vllm==0.99.0, ...",
            "engine_not_found",
        ),
        (
            "error: Failed to fetch: `http://127.0.0.1:1/simple/vllm/`\n"
            "  Caused by: tcp connect error: Connection refused (os error 111)",
            "index_unreachable",
        ),
        (
            "error: Failed to fetch: `https://i/simple/vllm/`\n"
            "  Caused by: dns error: failed to lookup address information: Name or service not known",
            "index_unreachable",
        ),
        (
            "error: Failed to fetch: `https://i/simple/vllm/`\n"
            "  Caused by: HTTP status client error (401 Unauthorized) for url (https://i/simple/vllm/)",
            "index_refused",
        ),
        (
            "error: Failed to fetch: `https://i/x.whl`\n"
            "  Caused by: Failed to extract archive\n  Caused by: No space left on device (os error 28)",
            "install_no_space",
        ),
        (
            "error: Failed to download `vllm==0.16.0`\n  Caused by: Hash mismatch for `vllm==0.16.0`",
            "wheel_broken",
        ),
        ("error: No interpreter found for Python >=3.99 in managed installations or search path", "install_no_python"),
        ("thread 'main' panicked", "install_failed"),
    ],
)  # fmt: skip
def test_what_uv_printed_last_tells_why(printed: str, code: str) -> None:
    error = failure.of_uv("installing vllm==0.16.0", printed, 1)
    assert error.code == code
    assert error.message.startswith("uv ended with 1 while installing vllm==0.16.0:\n")
    assert printed.splitlines()[-1].strip() in error.message


def test_only_the_last_lines_are_told() -> None:
    printed = "\n".join(f"line {number}" for number in range(100))
    lines = failure.of_uv("x", printed, 1).message.splitlines()
    assert (len(lines), lines[-1]) == (failure.TAIL_LINES + 1, "  line 99")
    assert failure.of_uv("x", "", 1).message.endswith("it printed nothing")


def test_a_full_disk_is_one_whoever_meets_it() -> None:
    assert failure.of_system("x", OSError(errno.ENOSPC, "No space left")).code == "install_no_space"
    assert failure.of_system("x", OSError(errno.EACCES, "Permission denied", "/e")).message.endswith(
        "denied: /e"
    )
