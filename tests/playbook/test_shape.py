"""Which values each key of a playbook may have; what of them is a secret, and what a secret may not stand in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.base.errors import UsageError
from orchestrator.plan import resolve
from orchestrator.playbook import playbook
from orchestrator.playbook.parts import EngineSettings, Parallel
from orchestrator.playbook.playbook import Playbook
from orchestrator.playbook.setting import Setting
from orchestrator.playbook.shape import Shape

CASES = Path(__file__).parent / "cases"
WRONG = sorted((CASES / "wrong").glob("*.yaml"))
LEAST: dict[str, Any] = {"model": {"repository": "org/name"}, "context": 8}


@pytest.fixture
def base() -> Playbook:
    return playbook.load(CASES / "base.yaml")


def shape(**keys: Any) -> Shape:
    return Shape.model_validate({**LEAST, **keys})


@pytest.mark.parametrize(
    "keys",
    [
        {"model": {"repository": "name"}},
        {"model": {"repository": "org/a.b_c-d", "revision": "refs/pr/1", "served_name": "a/b:c@d"}},
        {"checkpoint": {"folder": "/models/x", "ignore": ["original/*"]}},
        {"checkpoint": {"folder": "~"}},
        {"engine": {"python": "~/env/bin/python3", "version": ""}},
        {"context": 2**31 - 1},
        {"context": "auto"},
        {"listen": "localhost"},
        {"listen": "::1"},
        {"port": 65535},
        {"needs": {"gpus": 0, "gpu_memory_gib": 79.5}},
        {"arguments": {"a-b": [1], "compilation-config.mode": 3}},
        {"environment": {"_a1": 1, "B": "x", "C": {"value": 0.5}}},
        {"consents": ["trust-remote-code", "install"]},
        {"ready_timeout": 30 * 24 * 3600},
    ],
)
def test_a_value_that_is_right(keys: dict[str, Any]) -> None:
    assert shape(**keys)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"model": {"repository": "a/b/c"}}, "'a/b/c' is wrong; allowed: ORGANISATION/NAME of the Hub"),
        ({"model": {"repository": "a--b"}}, "ORGANISATION/NAME"),
        ({"model": {"repository": "org/name", "revision": "a..b"}}, "a branch, tag or commit"),
        ({"model": {"repository": "org/name", "served_name": "-a"}}, "letters, digits and ._:/@-"),
        ({"checkpoint": {"folder": "/a\nb"}}, "one line of text"),
        ({"checkpoint": {"ignore": ["a\0b"]}}, "one line of text"),
        ({"engine": {"python": "-c"}}, "a path on the host, or a name on its PATH"),
        ({"context": 0}, "a number of tokens from 1, or auto"),
        ({"context": "8"}, "a number of tokens from 1, or auto"),
        ({"context": True}, "a number of tokens from 1, or auto"),
        ({"port": 0}, "greater than or equal to 1"),
        ({"needs": {"gpus": -1}}, "greater than or equal to 0"),
        ({"needs": {"gpu_memory_gib": float("nan")}}, "finite number"),
        (
            {"needs": {"gpus": 1}, "parallel": {"data": 2}},
            "gpus: 1 is fewer than the 2 that parallel asks for",
        ),
        ({"environment": {"1A": "x"}}, "'1A' cannot name a variable; allowed: letters, digits and _"),
        ({"environment": {"DEPLOY_X": "x"}}, "DEPLOY_X is kept for this program's own marks"),
        ({"environment": {"A": None}}, "is not a variable's value; allowed: text or a number"),
        ({"environment": {"A": "x\ry"}}, "one line without NUL characters"),
        ({"figures": {"kv_cache": "int4"}}, "'fp8' or 'bf16'"),
        ({"smoke": {"prompt": ""}}, "at least 1 character"),
        ({"ready_timeout": 30 * 24 * 3600 + 1}, "less than or equal to 2592000"),
    ],
)
def test_a_value_that_is_wrong(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        shape(**keys)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("range_", "version", "accepted"),
    [
        (">=0.15,<0.20", "0.15.0", True),
        (">=0.15,<0.20", "0.20.0", False),
        (">=0.15", "0.15.0rc1+cu130", True),
        (">=0.15", "0.14.9.dev3", False),
        ("", "0.1", True),
        (">=0.15", "nightly", False),
    ],
)
def test_which_versions_will_do(range_: str, version: str, accepted: bool) -> None:
    assert EngineSettings(version=range_).accepts(version) is accepted


def test_a_launch_outlasts_what_the_engine_itself_waits_for() -> None:
    patience = "VLLM_ENGINE_READY_TIMEOUT_S"
    assert shape(environment={patience: 599}, ready_timeout=600)
    assert shape(environment={patience: "long"}, ready_timeout=600)
    with pytest.raises(
        ValidationError, match=f"600 s would end a launch before the engine's own {patience} of 600 s"
    ):
        shape(environment={patience: 600}, ready_timeout=600)


def test_cards_of_all_kinds_of_parallelism_multiply() -> None:
    assert Parallel(tensor=2, pipeline=3, data=5).gpus == 30


def test_a_bare_value_is_a_setting_without_a_reason() -> None:
    assert shape(environment={"A": 1}).environment == {"A": Setting(value="1", reason="")}
    hidden = shape(environment={"HF_TOKEN": {"value": "hushed", "reason": "private"}}).environment["HF_TOKEN"]
    assert (hidden.plain, hidden.reason) == ("hushed", "private")
    assert "hushed" not in repr(hidden)


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_a_wrong_file_is_told_by_line_and_key(path: Path) -> None:
    says = [
        line.removeprefix("# says:").strip() for line in path.read_text().splitlines() if "# says:" in line
    ]
    assert says
    with pytest.raises(UsageError) as caught:
        playbook.load(path)
    assert caught.value.code == "invalid_playbook"
    assert "hush" not in caught.value.message
    assert "s3cret" not in caught.value.message
    for text in filter(None, says):
        assert f"{path}:{text}" in caught.value.message
    # nothing beside what was expected
    assert len(caught.value.message.splitlines()) <= len(says)


def test_values_do_not_change(base: Playbook) -> None:
    with pytest.raises(ValidationError):
        base.port = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("variable", "shown"),
    [
        ("PIP_INDEX_URL=https://bob:hushed@mirror/simple", "https://***@mirror/simple"),
        ("HF_ENDPOINT=https://hushed@mirror", "https://***@mirror"),
        ("https_proxy=bob:hushed@proxy:3128", "***@proxy:3128"),
        ("MODEL_STORE=s3://key:hushed/2@bucket", "s3://***@bucket"),
        ("NOTE=ghp_16C7e42F292c6912E7710c838347hushed", "**********"),
        ("DATABASE_URL=hushed", "**********"),
    ],
)
def test_a_variable_with_credentials_is_a_secret_that_the_engine_still_gets(
    base: Playbook, variable: str, shown: str
) -> None:
    name, _, value = variable.partition("=")
    for changed in (
        base.with_overrides([], [], [variable]),
        base.with_overrides([f"environment.{variable}"]),
    ):
        options = resolve.requested(changed, python="/p", folder="/m")
        (kept,) = (one for one in options.environment if one.name == name)
        assert (kept.secret, kept.sent, kept.shown) == (True, value, shown)
        assert "hushed" not in repr(changed) + changed.model_dump_json()


def test_a_playbook_may_name_a_mirror_with_credentials_but_no_secret(tmp_path: Path) -> None:
    text = "model: {repository: a/b}\ncontext: 8\nenvironment: {%s}\n"
    (tmp_path / "a.yaml").write_text(text % '"MIRROR": "https://bob:hushed@mirror/"')
    assert "hushed" not in repr(playbook.load(tmp_path / "a.yaml"))
    (tmp_path / "a.yaml").write_text(text % "DB_PASS: hushed")
    with pytest.raises(UsageError) as caught:
        playbook.load(tmp_path / "a.yaml")
    assert "pass --env DB_PASS instead" in caught.value.message
    assert "hushed" not in caught.value.message


@pytest.mark.parametrize(
    "argument",
    [
        "otlp-traces-endpoint=http://bob:hushed@collector:4317",
        "chat-template=https://s3/x?X-Amz-Signature=hushed",
        "override-generation-config=hf_abcdefghij0123hushed",
        'hf-overrides={"api_key": "hushed"}',
        "admin-password=hushed",
    ],
)
def test_a_credential_in_an_engine_argument_is_refused(base: Playbook, argument: str) -> None:
    with pytest.raises(UsageError) as caught:
        base.with_overrides([], [argument])
    assert "process list" in caught.value.message
    assert "hushed" not in caught.value.message


@pytest.mark.parametrize(
    "argument",
    [
        "tokenizer-mode=slow",
        "ssl-keyfile=/etc/ssl/private/key.pem",
        "max-num-batched-tokens=8192",
        'hf-overrides={"bos_token": "<s>", "num_key_value_heads": 8}',
        'kv-transfer-config={"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}',
        "tokenizer=org/name@main",
        "otlp-traces-endpoint=http://collector:4317",
    ],
)
def test_an_ordinary_engine_argument_is_none(base: Playbook, argument: str) -> None:
    assert base.with_overrides([], [argument]).arguments
