"""A model as the real client reads it from a Hub: what is fetched, what is refused, and who gets the token."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.base.errors import DeployError
from orchestrator.models import hub as reading
from orchestrator.on_host.secrets import hub_token
from tests import tiny_mla
from tests.hub import Hub

MODEL = "deploy-tests/tiny-mla"
SHARDS = 6


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hub")
    tiny_mla.make(folder / MODEL)
    (folder / "deploy-tests" / "empty").mkdir()
    (folder / "deploy-tests" / "empty" / "README.md").write_text("nothing yet\n")
    return folder


@pytest.fixture
def hub(repositories: Path) -> Iterator[Hub]:
    with Hub(repositories) as hub:
        yield hub


def test_a_model_is_its_files_and_its_configs(hub: Hub, repositories: Path) -> None:
    model = reading.read(MODEL, "main", {"HF_ENDPOINT": hub.endpoint})
    folder = repositories / MODEL
    assert model.commit == hub.commit(MODEL)
    assert model.files == {path.name: path.stat().st_size for path in folder.iterdir()}
    assert model.weights_bytes == sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    assert len(model.shards) == SHARDS
    assert model.configs["config.json"] == (folder / "config.json").read_bytes()
    assert not [name for name in hub.fetched() if name.endswith(".safetensors")]


@pytest.mark.parametrize(
    ("repository", "revision", "code", "exit_code"),
    [
        ("deploy-tests/nothing", "main", "unknown_model", 2),
        (MODEL, "v9", "unknown_revision", 2),
        ("deploy-tests/empty", "main", "no_config", 5),
    ],
)
def test_what_is_not_there_is_told_in_the_first_second(
    hub: Hub, repository: str, revision: str, code: str, exit_code: int
) -> None:
    reading.read(MODEL, "main", {"HF_ENDPOINT": hub.endpoint})  # the client is imported
    began = time.monotonic()
    with pytest.raises(DeployError) as refused:
        reading.read(repository, revision, {"HF_ENDPOINT": hub.endpoint})
    assert time.monotonic() - began < 1
    assert (refused.value.code, refused.value.exit_code) == (code, exit_code)
    assert repository in refused.value.message


@pytest.mark.parametrize("content", ["", "[]", "{", "\ufeff{}", "[" * 100_000])
def test_a_config_that_no_engine_reads_is_told(hub: Hub, repositories: Path, content: str) -> None:
    folder = repositories / "deploy-tests" / "broken"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(content)
    with pytest.raises(DeployError) as refused:
        reading.read("deploy-tests/broken", "main", {"HF_ENDPOINT": hub.endpoint})
    assert refused.value.code == "config_broken"


def test_a_gated_model_says_where_access_is_granted(hub: Hub) -> None:
    hub.gated, hub.token = True, "hf_right"
    with pytest.raises(DeployError) as refused:
        reading.read(MODEL, "main", {"HF_ENDPOINT": hub.endpoint})
    assert refused.value.code == "hub_gated"
    assert f"{hub_token.HUB}/{MODEL}" in str(refused.value.next_command)


def test_a_hub_that_does_not_answer_is_told_as_that(hub: Hub) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(DeployError) as refused:
            reading.read(MODEL, "main", {"HF_ENDPOINT": f"http://127.0.0.1:{taken.getsockname()[1]}"})
    assert refused.value.code == "hub_unread"
    hub.fail[""] = 9
    with pytest.raises(DeployError) as refused:
        reading.read(MODEL, "main", {"HF_ENDPOINT": hub.endpoint})
    assert refused.value.code == "hub_unread"


def test_a_token_that_is_kept_back_leads_to_its_consent(hub: Hub, tmp_path: Path) -> None:
    hub.gated, hub.token = True, "hf_right"
    (tmp_path / "token").write_text("hf_right\n")  # as `hf auth login` leaves it
    environment = {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(tmp_path)}
    with pytest.raises(DeployError) as refused:
        reading.read(MODEL, "main", environment)
    assert (refused.value.code, refused.value.exit_code) == ("hub_token_withheld", 4)
    assert refused.value.known["consent"] == "token-to-endpoint"
    assert {request.authorization for request in hub.requests} == {None}
    assert reading.read(MODEL, "main", environment, token_consent=True).commit == hub.commit(MODEL)


def test_the_token_goes_to_the_hub_alone(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"HF_ENDPOINT": hub.endpoint, "HF_TOKEN": "hf_secret"}
    reading.read(MODEL, "main", environment)
    assert {request.authorization for request in hub.requests} == {None}
    monkeypatch.setattr(hub_token, "trusted", lambda _: True)
    hub.requests.clear()
    reading.read(MODEL, "main", environment)
    assert {request.authorization for request in hub.requests} == {"Bearer hf_secret"}
