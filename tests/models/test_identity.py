"""What is the id of a model, and what is a deployment of it called?"""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.models.identity import deployment_in, deployment_of, is_model


@pytest.mark.parametrize("word", ["Qwen/Qwen3-8B", "deploy-tests/tiny-mla", "nvidia/Kimi-K2.5-NVFP4", "a/b"])
def test_an_organisation_and_a_name_are_a_model(word: str) -> None:
    assert is_model(word)


@pytest.mark.parametrize(
    "word",
    [
        "kimi-k2.5",
        "./qwen3",
        "/models/qwen3",
        "~/models/qwen3",
        "a/b/c",
        "mine/qwen3.yaml",
        "mine/qwen3.yml",
        "a/",
        "/b",
    ],
)
def test_a_playbooks_name_or_path_is_none(word: str) -> None:
    assert not is_model(word)


def test_a_file_of_that_name_is_a_playbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    assert is_model("mine/qwen3")
    (tmp_path / "mine" / "qwen3").write_text("model: {}\n")
    assert not is_model("mine/qwen3")


def test_two_models_are_never_one_deployment() -> None:
    ids = ["a/model", "b/model", "a/Model-2", f"a/{'m' * 80}1", f"a/{'m' * 80}2"]
    made = [deployment_of(word) for word in ids]
    assert len({playbook.name for playbook in made}) == len(ids)
    assert len({playbook.folder for playbook in made}) == len(ids)
    assert made[0].name == "a--model"
    assert made[2].served_name == "Model-2"
    assert (made[0].listen, made[0].consents) == ("127.0.0.1", ())


@pytest.mark.parametrize(
    ("folder", "name", "served"),
    [
        ("/data/Qwen3-8B", "qwen3-8b-", "Qwen3-8B"),
        ("/data/Qwen3-8B/", "qwen3-8b-", "Qwen3-8B"),
        ("~/odd name (2)", "odd-name-2-", "odd-name-2"),
        ("/", "model-", "model"),
        (f"~/{'m' * 80}", f"{'m' * 55}-", "m" * 80),
        ("/c/models--Qwen--Qwen3-8B/snapshots/0f1e", "qwen3-8b-", "Qwen3-8B"),
    ],
)
def test_a_folder_gives_its_name(folder: str, name: str, served: str) -> None:
    playbook = deployment_in(folder)
    assert playbook.name[:-8] == name
    assert (playbook.served_name, playbook.folder) == (served, folder)
    assert (playbook.choose, playbook.model.repository) == (True, None)


def test_two_folders_of_one_name_are_two_deployments() -> None:
    assert deployment_in("/a/m").name != deployment_in("/b/m").name
    assert deployment_in("/a/m").name == deployment_in("/a/m/").name
