"""How a secret looks: each form has a sign that is looked for first, and no expression takes long on any text."""

from __future__ import annotations

import time

import pytest

from orchestrator.on_host.secrets import forms
from orchestrator.on_host.secrets.forms import Rule
from tests.on_host.secrets.test_secrets import FORMS

RULES = {name: rule for name, rule in vars(forms).items() if isinstance(rule, Rule)}


@pytest.mark.parametrize("text", FORMS)
def test_whatever_has_a_known_form_has_a_sign_that_is_looked_for_first(text: str) -> None:
    assert forms.FORMS.pattern.fullmatch(text)
    assert any(prefix in text for prefix in forms.PREFIXES)


@pytest.mark.parametrize("prefix", forms.PREFIXES)
def test_every_sign_is_one_of_a_form(prefix: str) -> None:
    """What nothing begins with would only be looked for in vain."""
    ends = (
        "A1b2C3d4E5f6G7h8I9j0K1l2",
        "a" * 40,
        "0123456789abcdef" * 2,
        "pat_A1b2C3d4E5f6G7h8",
        "b-A1b2C3d4E5f6G7h8",
    )
    more = (
        "A1b2C3d4E5f6.G7h8I9j0K1l2",
        "A1B2C3D4E5F6G7H8I9J0K1L2",
        "at_" + "A1b2C3d4E5f6G7h8I9j0",
        "pt_A1b2C3d4E5f6G7h8",
    )
    starts = ("", "s")  # sk_live_, shpat_
    texts = [start + prefix + end for start in starts for end in (*ends, *more)]
    assert any(forms.FORMS.pattern.search(text) for text in texts), prefix


@pytest.mark.parametrize(
    "name",
    [
        "hf_token=", "db.password: ", "PASS=", "pwd = ", "secret := ", "credential: ", "api_key=", "auth: ", "cookie=",
        "dsn=", "sas=", "pat=", "jwt=", "bearer=", "webhook: ", "conn_str=", "database_url=", "db-uri: ",
    ],
)  # fmt: skip
def test_whatever_is_named_as_a_secret_has_a_word_that_is_looked_for_first(name: str) -> None:
    text = f"{name}x".lower()
    assert forms.NAME.pattern.search(text)
    assert any(word in text for word in forms.WORDS)


HARD = [
    "a" * 20_000,
    "https://" * 2500,
    "token=" * 3000,
    "'\"" * 10_000,
    " " * 20_000,
    "a:" * 10_000,
    "%25" * 7000,
    "\\" * 20_000,
]


@pytest.mark.parametrize("name", RULES)
def test_no_expression_is_kept_busy_by_a_long_text(name: str) -> None:
    began = time.process_time()
    for text in HARD:
        RULES[name].pattern.search(text)
    assert time.process_time() - began < 5.0
