"""Playbooks: what a file may say, what a command may change, where they are found."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from orchestrator.base.data_folders import shipped
from orchestrator.base.errors import UsageError
from orchestrator.cli.hints import after
from orchestrator.plan import resolve
from orchestrator.playbook import playbook
from orchestrator.playbook.names import files_in
from orchestrator.playbook.playbook import Playbook

CASES = Path(__file__).parent / "cases"


def consents_of(asked: Playbook) -> dict[str, str]:
    """What a launch of the playbook alone needs consents for."""
    return resolve.requested(asked, python="python3", folder="/m").consents()


@pytest.fixture
def base() -> Playbook:
    return playbook.load(CASES / "base.yaml")


@pytest.mark.parametrize("path", sorted(shipped("playbooks").glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_playbooks_are_whole(path: Path) -> None:
    found = playbook.load(path)
    assert found.description
    assert all(item.reason for item in found.environment.values())
    assert set(consents_of(found)) <= set(found.consents)
    assert found.gpus in (0, found.parallel.gpus)


def test_the_flagship() -> None:
    found = playbook.load(shipped("playbooks") / "kimi-k2.5.yaml")
    assert found.model.repository == "nvidia/Kimi-K2.5-NVFP4"
    assert (found.parallel.tensor, found.gpus, found.context, found.port) == (8, 8, 131072, 8000)
    assert found.arguments == {
        "tool-call-parser": "kimi_k2",
        "enable-auto-tool-choice": True,
        "reasoning-parser": "kimi_k2",
        "trust-remote-code": True,
    }
    assert {name: item.value for name, item in found.environment.items()} == {
        "VLLM_ENGINE_READY_TIMEOUT_S": "3600",
        "NCCL_P2P_LEVEL": "SYS",
        "NCCL_PROTO": "LL",
    }
    assert found.ready_timeout > 3600
    assert found.engine.accepts("0.16.0")
    assert found.engine.accepts("0.15.0rc1+cu130")
    assert not found.engine.accepts("0.14.1")
    assert not found.engine.accepts("unknown")


def test_defaults(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text("model: {repository: org/name}\ncontext: 4096\n")
    found = playbook.load(path)
    assert (found.name, found.served_name, found.folder) == ("small", "small", "~/models/small")
    assert (found.listen, found.port, found.gpus, found.ready_timeout) == ("127.0.0.1", 8000, 1, 1800)
    assert (found.model.revision, found.smoke.prompt, found.smoke.max_tokens) == ("main", "2+2=", 8)
    assert consents_of(found) == {}
    assert found.source == path


@pytest.mark.parametrize("name", ["Big", "-x", "a b", "ä", "x" * 65, ".hidden"])
def test_a_file_name_that_is_no_playbook_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.yaml"
    path.write_text((CASES / "base.yaml").read_text())
    with pytest.raises(UsageError) as caught:
        playbook.load(path)
    assert caught.value.code == "invalid_playbook"


def test_a_secret_shows_itself_nowhere(base: Playbook) -> None:
    kept = base.with_overrides([], [], ["VLLM_API_KEY", "HF_TOKEN=hush"], ambient={"VLLM_API_KEY": "hush"})
    again = kept.with_overrides(["port=8001"])
    for found in (kept, again):
        value = found.environment["VLLM_API_KEY"].value
        assert isinstance(value, SecretStr)
        assert value.get_secret_value() == "hush"
        assert "hush" not in repr(found) + found.model_dump_json() + str(found.model_dump())
    with pytest.raises(UsageError) as caught:
        kept.with_overrides(["prot=1"], [], ["MY_PASSWORD=hush\n"])
    assert "hush" not in caught.value.message


def test_a_key_knows_who_set_it(base: Playbook) -> None:
    assert base.origin("context") == base.origin("parallel", "tensor") == "playbook"
    assert (
        base.origin("port")
        == base.origin("parallel", "data")
        == base.origin("checkpoint", "folder")
        == "default"
    )
    whole = base.with_overrides(["parallel={tensor: 2}"]).with_overrides(["port=8001"])
    assert whole.origin("parallel", "tensor") == whole.origin("port") == "option"
    assert whole.origin("context") == "playbook"
    assert whole.in_folder("/models/x").origin("checkpoint", "folder") == "option"
    assert (whole.in_folder("/models/x").folder, whole.origin("checkpoint", "folder")) == (
        "/models/x",
        "default",
    )


@pytest.mark.parametrize(
    ("listen", "arguments", "needed"),
    [
        ("127.0.0.1", [], []),
        ("localhost", [], []),
        ("::1", [], []),
        ("0.0.0.0", [], ["listen-openly"]),
        ("::", [], ["listen-openly"]),
        ("10.1.2.3", ["trust_remote_code"], ["trust-remote-code", "listen-openly"]),
        ("127.0.0.1", ["--trust-remote-code"], ["trust-remote-code"]),
        (
            "127.0.0.1",
            ["--trust-rem"],
            ["trust-remote-code"],
        ),  # argparse takes abbreviations unless told not to
    ],
)
def test_what_needs_a_consent(base: Playbook, listen: str, arguments: list[str], needed: list[str]) -> None:
    changed = base.with_overrides([f"listen={listen}"], arguments)
    assert list(consents_of(changed)) == needed


def test_the_first_folder_wins(tmp_path: Path) -> None:
    text = (CASES / "base.yaml").read_text()
    for number, folder in enumerate(("mine", "theirs")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "both.yaml").write_text(text.replace("4096", str(number + 1)))
    (tmp_path / "theirs" / "other.yaml").write_text(text)
    folders = (tmp_path / "missing", tmp_path / "mine", tmp_path / "theirs")
    assert playbook.find("both", folders).context == 1
    assert playbook.find("other", folders).context == 4096
    assert list(files_in(folders)) == ["both", "other"]


def test_a_path_is_a_playbook_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert playbook.find(str(CASES / "base.yaml"), ()).name == "base"
    monkeypatch.chdir(CASES)
    assert playbook.find("base.yaml", ()).name == "base"
    with pytest.raises(UsageError, match=r"none\.yaml: missing"):
        playbook.find(str(tmp_path / "none.yaml"), ())


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("KIMI-K2.5", "kimi-k2.5?"),
        ("tiny", "tiny-mla?"),
        ("kimi", "kimi-k"),
        ("glm4.7-fp8", "glm-4.7-fp8"),
        ("qwen3-32", "qwen3-32b"),
    ],
)
def test_an_unknown_name_gets_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        playbook.find(name, (shipped("playbooks"),))
    assert caught.value.code == "unknown_playbook"
    assert f"did you mean {hint}" in caught.value.message
    assert after(caught.value, "deploy kimi") == "deploy list playbooks"


@pytest.mark.parametrize("name", ["..", "$(id)", "a\nb", "", "-rf"])
def test_a_name_that_none_can_have(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        playbook.find(name, (shipped("playbooks"),))
    assert caught.value.code == "unknown_playbook"
    assert "\n" not in caught.value.message


def test_a_deployment_has_the_playbooks_name_unless_told() -> None:
    given = playbook.load(CASES / "base.yaml")
    other = given.as_instance("other").with_overrides(["port=8001"]).in_folder("/m")
    assert (given.instance, other.instance, other.name) == ("base", "other", "base")
    assert other.served_name == given.served_name
