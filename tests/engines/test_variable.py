"""What of a variable may be shown."""

from __future__ import annotations

from pydantic import SecretStr

from orchestrator.engines.variable import Variable


def test_what_a_remedy_sets_is_shown_with_where_it_comes_from() -> None:
    variable = Variable.of_a_remedy("NCCL_P2P_DISABLE", "1")
    assert variable == Variable("NCCL_P2P_DISABLE", "1", "set by a remedy", "remedy")
    assert (variable.shown, variable.sent, variable.secret) == ("1", "1", False)


def test_a_secret_is_sent_and_never_shown() -> None:
    for variable in (
        Variable.of_a_remedy("HF_TOKEN", "hf_abcdefghijklmnop"),
        Variable("ANY", SecretStr("hf_abcdefghijklmnop"), "", "playbook"),
    ):
        assert (variable.sent, variable.secret) == ("hf_abcdefghijklmnop", True)
        assert "abcdefghijklmnop" not in f"{variable.shown} {variable!r}"


def test_of_a_url_only_the_credentials_are_hidden() -> None:
    variable = Variable.of_a_remedy("VLLM_MIRROR", "https://ann:secretword@mirror/x")
    assert variable.secret
    assert "secretword" not in variable.shown
    assert "mirror/x" in variable.shown


def test_of_a_secret_only_the_name_and_the_reason_are_told() -> None:
    told = Variable.of_a_remedy("HF_TOKEN", "hf_abcdefghijklmnop").as_json()
    assert {"name": "HF_TOKEN", "reason": "set by a remedy", "origin": "remedy"}.items() <= told.items()
    assert "abcdefghijklmnop" not in told["value"]
    assert Variable("A", "1", "measured", "playbook").as_json()["value"] == "1"
