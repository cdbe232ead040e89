"""A command line told again, without the secrets that were in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.cli.main import run
from orchestrator.cli.typed import amended, as_typed, on_group, retyped


def test_a_password_typed_with_the_host_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    for options in ([], ["--json"]):
        assert run(["kimi-k2.5", "--host", "bob:sesame7@gpu7.invalid", *options]) == 3
    said = capsys.readouterr()
    assert "gpu7.invalid" in said.out + said.err
    assert "sesame7" not in said.out + said.err


def test_a_password_in_ssh_config_is_not_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config").write_text("Host *\n  ProxyJump bob:sesame7@nowhere.invalid\n")
    assert run(["status", "kimi-k2.5", "--host", "gpu7.invalid", "-F", str(tmp_path / "config")]) != 0
    said = capsys.readouterr()
    assert "nowhere.invalid" in said.out + said.err
    assert "sesame7" not in said.out + said.err


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        (["kimi", "--host", "a b"], "deploy kimi --host 'a b'"),
        (["kimi", "--env", "VLLM_API_KEY=sesame"], "deploy kimi --env VLLM_API_KEY"),
        (["kimi", "--env=HF_TOKEN=sesame"], "deploy kimi --env=HF_TOKEN"),
        (["kimi", "--env", "NCCL_DEBUG=INFO"], "deploy kimi --env NCCL_DEBUG=INFO"),
        (["kimi", "--set", "environment.HF_TOKEN=sesame"], "deploy kimi --set 'environment.HF_TOKEN=***'"),
        (["kimi", "--engine-arg", "api-key=sesame"], "deploy kimi --engine-arg 'api-key=***'"),
        (["kimi", "--env", "HTTPS_PROXY=http://u:sesame@p:1"], "deploy kimi --env HTTPS_PROXY"),
        (["kimi", "--env=http_proxy=u:sesame@p:1"], "deploy kimi --env=http_proxy"),
        (["kimi", "--set", "environment.X=amqp://u:sesame@p"], "deploy kimi --set 'environment.X=***'"),
        (["kimi", "--set", 'environment={"HF_TOKEN": "sesame"}'], "deploy kimi --set 'environment=***'"),
        (["https://u:sesame@host/x.yaml"], "deploy 'https://***@host/x.yaml'"),
        (["kimi", "--engine-arg", "max-num-seqs=8"], "deploy kimi --engine-arg max-num-seqs=8"),
        (["kimi", "--set", "port=8001"], "deploy kimi --set port=8001"),
    ],
)
def test_told(typed: list[str], shown: str) -> None:
    assert as_typed(typed) == shown


@pytest.mark.parametrize(
    ("typed", "argument", "instead", "then"),
    [
        ("deploy x --engine-arg max_num_seq=8 -v", "max-num-seq", "max-num-seqs=8", "deploy x --engine-arg max-num-seqs=8 -v"),
        ("deploy x --engine-arg=max-num-seq=8", "max-num-seq", None, "deploy x"),
        ("deploy x --set arguments.a=1 --set port=1", "a", "b=1", "deploy x --engine-arg b=1 --set port=1"),
        ("deploy x --engine-arg --a --engine-arg b", "a", None, "deploy x --engine-arg b"),
        ("deploy x --set a=1", "a", None, "deploy x --set a=1"),
        ("deploy x --engine-arg", "a", None, "deploy x --engine-arg ''"),
    ],
)  # fmt: skip
def test_an_argument_is_typed_otherwise(typed: str, argument: str, instead: str | None, then: str) -> None:
    assert retyped(typed, argument, instead) == then


@pytest.mark.parametrize(
    ("typed", "more", "command"),
    [
        ("plan k --gpu 4xH100", "--gpu 8xH100", "plan k --gpu 8xH100"),
        ("plan k --gpu=4xH100 --json", "--gpu '8xH100 NVL'", "plan k --json --gpu '8xH100 NVL'"),
        ("plan k --vllm-version 0.9.0 -v", "--vllm 0.15", "plan k -v --vllm 0.15"),
        ("k --set port=1 --set context=9", "--set port=2", "k --set context=9 --set port=2"),
        ("k --env A=1 --env=B=2", "--env B=3", "k --env A=1 --env B=3"),
        ("k --consent linger", "--consent listen-openly", "k --consent linger --consent listen-openly"),
        ("up -v k --host a --host b", "-v", "up -v k --host a --host b -v"),
        ("k --dry-run --host 'a b'", "--name NAME", "k --dry-run --host 'a b' --name NAME"),
        ("k --host a --as-one", "--host HOST --as-one", "k --host a --host HOST --as-one"),
        ("--as-one k --host a --host a", "--host HOST --as-one", "k --host a --host HOST --as-one"),
    ],
)
def test_what_an_option_says_anew_is_not_said_twice(typed: str, more: str, command: str) -> None:
    assert amended(f"deploy {typed}", more) == f"deploy {command}"


@pytest.mark.parametrize(
    "typed", ["stop k --host b --part", "stop --as-one k --host a --host c", "stop k --hosts rack1 --as-one"]
)
def test_a_command_for_a_whole_group_names_its_hosts_alone(typed: str) -> None:
    assert on_group(f"deploy {typed}", ("a", "b")) == "deploy stop k --host a --host b --as-one"
