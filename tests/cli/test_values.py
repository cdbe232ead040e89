"""Values of options that nothing can be done with are refused before a host is asked."""

from __future__ import annotations

import pytest

from orchestrator.cli.main import run


@pytest.mark.parametrize("seconds", ["nan", "inf", "-inf", "-1", "0", "1e400", "3e6", "soon", ""])
def test_a_timeout_that_is_no_time(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["up", "tiny-mla", "--host", "nowhere.invalid", f"--timeout={seconds}"]) == 2
    assert "--timeout takes seconds, e.g. 300" in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1"])
def test_a_silence_that_is_no_time(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", "/dev/null", f"--idle-seconds={seconds}"]) == 2
    assert "--idle-seconds takes seconds" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["up", "tiny-mla", "--host=nowhere.invalid", "--max-attempts=999999999999"],
        ["logs", "tiny-mla", "--host=nowhere.invalid", "--lines=99999999999999999999"],
        ["logs", "tiny-mla", "--host=nowhere.invalid", "--launch=99999999999999999999"],
        ["diagnose", "/dev/null", "--gpus=99999999999999999999"],
    ],
)
def test_a_count_of_nothing_that_there_is(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("verb", "name", "near"),
    [
        ("up", "anything", ""),
        ("up", "trust_remote_code", "did you mean trust-remote-code?"),
        ("plan", "Listen-Openly", "did you mean listen-openly?"),
        ("remediate", "", ""),
        ("revert", "foreign-foldr", "did you mean foreign-folder?"),
    ],
)
def test_a_consent_that_nobody_can_give(
    verb: str, name: str, near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([verb, "tiny-mla", "--host", "nowhere.invalid", "--consent", name]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "there is no such consent" in said and "token-to-endpoint" in said
    assert near in said


@pytest.mark.parametrize(
    "setting",
    [
        "ready_timeout=99999999999", "ready_timeout=.inf", "context=99999999999999999999", "parallel.tensor=.nan",
        "needs.gpu_memory_gib=.nan", "needs.gpu_memory_gib=.inf", "needs.gpu_memory_gib=1e400", "smoke.max_tokens=1e30",
        "figures.layers=.inf", "figures.weights_bytes=99999999999999999999", "arguments.seed=.nan", "arguments.x=-.inf",
        "consents=[anything]", "port=99999",
    ],
)  # fmt: skip
def test_a_number_that_a_playbook_cannot_hold(setting: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["up", "tiny-mla", "--host", "nowhere.invalid", "--set", setting]) == 2
    said = capsys.readouterr().err
    assert setting.partition("=")[0].partition(".")[0] in said
    assert "Traceback" not in said
