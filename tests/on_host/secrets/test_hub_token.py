"""Where the Hub's token may go, and what an engine must not find."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.on_host.checkpoint import hub_repository
from orchestrator.on_host.secrets import hub_token


@pytest.mark.parametrize(
    ("endpoint", "trusted"),
    [
        ("https://huggingface.co", True),
        ("https://huggingface.co/", True),
        ("HTTPS://HuggingFace.co", True),
        ("http://huggingface.co", False),
        ("https://hf-mirror.com", False),
        ("https://huggingface.co.evil.org", False),
        ("https://huggingface.co@evil.org", False),
        ("https://[::1", False),
        ("huggingface.co", False),
        ("https://huggingface.co:443/", True),
        ("https://user:word@huggingface.co", True),
        ("https://huggingface.co:8443", False),
        ("https://evil.org\\@huggingface.co", False),
        ("https://evil.org:80\\@huggingface.co", False),
        ("https://huggingface.co\\@evil.org", False),
        ("https://huggingface.co@evil.org@huggingface.co", False),
        ("https://evil.org\t@huggingface.co", False),
        ("https://huggingface.co?@evil.org", False),
        ("https://huggingface.co\n", False),
        ("https://hugg\u0131ngface.co", False),
        ("https://hugging\u017face.co", False),
        ("", False),
    ],
)
def test_the_hub_itself(endpoint: str, trusted: bool) -> None:
    assert hub_token.trusted(endpoint) is trusted


@pytest.mark.parametrize(
    "variables",
    [
        {"HF_ENDPOINT": "http://mirror:8080"},
        {"HF_ENDPOINT": "https://hf-mirror.com"},
        {"HUGGINGFACE_CO_STAGING": "1"},
        {"CURL_CA_BUNDLE": ""},
        {"REQUESTS_CA_BUNDLE": "", "HF_ENDPOINT": "https://huggingface.co"},
    ],
)
def test_no_token_goes_elsewhere(variables: dict[str, str]) -> None:
    tokens = dict.fromkeys(
        ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_HUB_TOKEN", "HF_OIDC_RESOURCE"), "hush"
    )
    names, instead = hub_token.withheld({**variables, **tokens, "A": "b"}, consent=False)
    assert set(names) == set(tokens)
    assert instead == hub_token.WITHOUT
    assert hub_token.withheld({**variables, **tokens}, consent=True) == ([], {})


def test_the_hub_gets_its_token() -> None:
    for variables in ({}, {"HF_ENDPOINT": ""}, {"HF_ENDPOINT": "https://huggingface.co/"}):
        assert hub_token.withheld({**variables, "HF_TOKEN": "hush"}, consent=False) == ([], {})


def test_huggingface_hub_finds_no_token_then(tmp_path: Path) -> None:
    """The library itself is asked: a token in a file, as `hf auth login` leaves it, is not sent either."""
    (tmp_path / "token").write_text("hush")
    program = (
        "from huggingface_hub.utils import build_hf_headers; print(build_hf_headers().get('authorization'))"
    )
    environment = {"PATH": os.environ["PATH"], "HF_HOME": str(tmp_path)}
    said = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**environment, **more},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for more in ({}, hub_token.WITHOUT)
    ]
    assert said == ["Bearer hush", "None"]


class Asked(Exception):
    """Where the downloader asked, with which token."""


def hub_library(folder: Path, own: list[str]) -> Any:
    """huggingface_hub as far as the downloader asks it first; `own` gives its token once."""

    def listing(endpoint: str, token: str | bool) -> Any:
        raise Asked(endpoint, token)

    return SimpleNamespace(
        get_token=own.pop, HfApi=listing, constants=SimpleNamespace(HF_TOKEN_PATH=str(folder / "token"))
    )


@pytest.mark.parametrize(
    ("environment", "endpoint", "token"),
    [
        ({}, hub_token.HUB, "own"),
        ({}, "http://mirror", False),
        ({"HF_ENDPOINT": "http://mirror"}, hub_token.HUB, "given"),
        ({"CURL_CA_BUNDLE": ""}, hub_token.HUB, False),
    ],
)
def test_the_downloader_asks_for_no_token_where_it_would_be_renewed_elsewhere(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    endpoint: str,
    token: str | bool,
) -> None:
    for name in ("HF_ENDPOINT", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "HUGGINGFACE_CO_STAGING"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    own = ["own"]
    request = {"repository": "org/name", "revision": "main", "token": "given"}
    with pytest.raises(Asked) as asked:
        hub_repository._resolve(hub_library(tmp_path, own), endpoint, request)
    assert asked.value.args == (endpoint, token)
    assert (own == []) is (token == "own")
