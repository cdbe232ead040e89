"""What a remedy may never touch, whoever wrote the patch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.base.data_folders import shipped
from orchestrator.base.errors import UsageError
from orchestrator.patches import catalogue
from orchestrator.patches.action import Action
from orchestrator.plan import resolve
from orchestrator.playbook import playbook
from tests.surveys import WHOLE, survey

PLAYBOOK = playbook.load(shipped("playbooks") / "kimi-k2.5.yaml")


def load(folder: Path, *actions: dict[str, Any]) -> None:
    patch = {
        "id": "mine",
        "title": "A failure of mine",
        "category": "other",
        "match": [{"exception": "MyError", "pattern": "need (?P<what>[a-z0-9-]{1,80})"}],
        "remedy": list(actions),
    }
    (folder / "mine.yaml").write_text(json.dumps(patch))
    catalogue.load([folder])


def flag(name: str, value: str | None = None, **more: Any) -> dict[str, Any]:
    return {"kind": "flag", "name": name, "op": "remove" if value is None else "set", **more} | (
        {} if value is None else {"value": value}
    )


@pytest.mark.parametrize(
    "action",
    [
        *(
            flag(name, "x")
            for name in (
                "--host", "--hos", "--port", "--model", "--served_model_name", "--api-key", "--config", "--uds", "--ssl-keyfile",
                "--allowed-origins", "--allowed-local-media-path", "--root-path", "--middleware", "--download-dir", "--tokenizer",
                "--tool-parser-plugin", "--logits-processors", "--worker-cls", "--worker-extension-cls", "--scheduler-cls",
                "--chat-template", "--hf-token", "--revision", "--code-revision", "--tensor-parallel-size", "--hf-overrides",
                "--hf-overrides.auto_map", "--lora-modules", "--speculative-config", "--kv-events-config", "--tool-server",
            )
        ),
        *(flag(name) for name in ("--host", "--ssl-certfile", "--middleware", "--api-key", "--no-allow-credentials")),
        flag("--trust-remote-code", "true"),
        flag("--trust-rem", "true"),
        flag("--mm-processor-kwargs.trust_remote_code", "true"),
        flag("--mm-processor-kwargs", '{"trust_remote_code": true}'),
        flag("--structured-outputs-config.reasoning_parser_plugin", "/tmp/x.py"),
        flag("--structured-outputs-config", r'{"reasoning_parser_plu\u0067in": "/tmp/x.py"}'),
        flag("--compilation-config.inductor_passes.post", "x.y"),
        flag("--distributed-executor-backend", "x.y.Executor"),
        flag("--max-num-seqs=1 --host", "x"),
        flag("-O3"),
        flag("{what}", "1"),
        flag("--{what}"),
    ],
    ids=lambda action: f"{action['op']} {action['name']}",
)  # fmt: skip
def test_an_option_that_is_for_a_person(tmp_path: Path, action: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"mine\.yaml:1: remedy"):
        load(tmp_path, action)


@pytest.mark.parametrize(
    "name",
    [
        "LD_PRELOAD", "LD_LIBRARY_PATH", "PATH", "HOME", "PYTHONPATH", "PYTHONSTARTUP", "BASH_ENV", "HF_TOKEN", "HF_ENDPOINT",
        "HF_HOME", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "VLLM_API_KEY", "VLLM_PLUGINS", "VLLM_ALLOW_INSECURE_SERIALIZATION",
        "VLLM_SERVER_DEV_MODE", "VLLM_NCCL_SO_PATH", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "AWS_SECRET_ACCESS_KEY", "S3_ENDPOINT_URL",
        "NCCL_NET_PLUGIN", "VLLM_HOST_IP", "DEPLOY_LAUNCH", "UVICORN_HOST", "{what}",
    ],
)  # fmt: skip
def test_a_variable_that_is_for_a_person(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"mine\.yaml:1: remedy"):
        load(tmp_path, {"kind": "env", "name": name, "op": "set", "value": "/tmp/x"})


@pytest.mark.parametrize("name", ["VLLM_API_KEY", "PATH", "HTTPS_PROXY", "SSL_CERT_FILE"])
def test_a_variable_that_is_not_taken_away_either(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is for a person to choose"):
        load(tmp_path, {"kind": "env", "name": name, "op": "remove"})


def config(**more: Any) -> dict[str, Any]:
    return {"kind": "config", "file": "config.json", "path": "/rope_scaling", "op": "remove", **more}


@pytest.mark.parametrize(
    "action",
    [
        config(file="tokenizer_config.json"),
        config(file="../config.json"),
        config(file="model.safetensors.index.json"),
        config(path="/auto_map"),
        config(within="/auto_map", path="/AutoModel"),
        config(path=["/rope_scaling", "/text_config/auto_map"]),
        config(path=""),
        config(path="/"),
        config(path="rope_scaling"),
        config(path="/a~2"),
        config(path="/a\nb"),
        config(op="set"),
        config(op="add", value=1),
        config(value=1),
        config(op="set", value={"auto_map": {}}),
        config(op="set", value="https://evil/x"),
        config(name="x"),
        config(consent="install"),
        config(expects="text"),
        config(when={"config": {"config.py#/x": "*"}}),
        config(when={"config": {"x": "*"}}),
        {"kind": "config", "of": "fp8-kv-mla", "path": "/x"},
        {"kind": "config"},
        {**flag("--max-num-seqs", "8"), "path": "/x"},
        {**flag("--max-num-seqs"), "op": "set", "value": 8},
    ],
    ids=json.dumps,
)
def test_a_config_edit_that_is_none_or_for_a_person(tmp_path: Path, action: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"mine\.yaml:1: remedy"):
        load(tmp_path, action)


@pytest.mark.parametrize(
    "action",
    [
        config(),
        config(op="set", value={"rope_type": "yarn", "factor": 4.0}),
        config(op="set", value=None),
        config(op="set", value="{what}"),  # as it stands: no text of a log becomes a value of a file
        config(file="generation_config.json", path="/eos_token_id", op="set", value=[1, 2]),
    ],
    ids=json.dumps,
)
def test_a_config_edit_of_any_other_member(tmp_path: Path, action: dict[str, Any]) -> None:
    load(tmp_path, action)


@pytest.mark.parametrize(
    "action",
    [
        flag("--max-model-len", "{what}"),
        flag("--speculative-config"),
        flag("--reasoning-parser", "kimi_k2"),
        flag("--distributed-executor-backend", "mp"),
        flag(
            "--compilation-config",
            '{"cudagraph_mode": "PIECEWISE", "pass_config": {"fuse_norm_quant": false}}',
        ),
        flag("--compilation-config.cudagraph_mode", "NONE"),
        flag("{what}"),
        flag("--trust-remote-code", "true", consent="trust-remote-code"),
        {"kind": "env", "name": "NCCL_NET_PLUGIN", "op": "set", "value": "none"},
        {"kind": "env", "name": "VLLM_USE_V1", "op": "remove"},
        {"kind": "env", "name": "PYTHONUTF8", "op": "set", "value": "1"},
    ],
    ids=lambda action: f"{action['op']} {action['name']}",
)
def test_what_a_remedy_may_do(tmp_path: Path, action: dict[str, Any]) -> None:
    load(tmp_path, action)


def test_a_record_that_names_code_counts_for_nothing() -> None:
    flags = {
        "--structured-outputs-config.reasoning_parser_plugin": "/tmp/x.py",
        "--distributed-executor-backend": "a.B",
    }
    record = {
        "action": "patch",
        "patch": "mine",
        "folder": WHOLE.folder,
        "flags": {**flags, "--max-num-seqs": "8"},
    }
    assert set(resolve.overruled(PLAYBOOK, survey(journal=[record]))) == set(flags)


@pytest.mark.parametrize("kind", ["flags", "environment"])
def test_a_record_with_a_value_that_no_process_can_have(kind: str) -> None:
    record = {
        "action": "patch",
        "patch": "mine",
        "folder": WHOLE.folder,
        kind: {"--seed" if kind == "flags" else "NCCL_DEBUG": "a\0b"},
    }
    assert len(resolve.overruled(PLAYBOOK, survey(journal=[record]))) == 1


def test_what_the_shipped_patches_set_stays_in_force() -> None:
    """A name that the loader lets through is not passed over once it stands in the journal."""
    for patch in catalogue.load([shipped("patches")]):
        for action in (one for way in patch.ways for one in way.do if one.kind in ("flag", "env")):
            if action.groups() or action.name is None:
                continue
            kind = "flags" if action.kind == "flag" else "environment"
            value = None if action.op == "remove" else action.value or "1"
            record = {
                "action": "patch",
                "patch": patch.id,
                "folder": WHOLE.folder,
                kind: {action.name: value},
            }
            assert resolve.overruled(PLAYBOOK, survey(journal=[record])) == {}, patch.id


EDIT = {"kind": "config", "file": "config.json", "path": "/a"}


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ({"kind": "cleanup"}, "cleanup needs a name"),
        ({"kind": "cleanup", "name": "all"}, "cleanup knows no all; allowed: shm, orphan_processes"),
        ({"kind": "flag", "name": "--x"}, "flag needs an op; allowed: set, remove"),
        ({"kind": "env", "name": "VLLM_X", "op": "set"}, "env set needs one of value, formula"),
        ({"kind": "env", "name": "VLLM_X", "op": "set", "value": "1", "formula": "2"}, "env set needs one of value, formula"),
        ({"kind": "flag", "name": "--x", "op": "set", "value": 1}, "1 is no text; allowed: a text, in quotation marks"),
        ({"kind": "install", "name": "ninja"}, "install needs a consent; allowed: install"),
        ({"kind": "flag", "name": "--x", "op": "remove", "path": "/a"}, "flag knows no path: it is for kind: config"),
        ({"kind": "flag", "name": "{what}", "op": "set", "value": "1"}, "{what} is text of a log, which never names what is set"),
        ({"kind": "flag", "name": "--{what}", "op": "remove"}, "'--{what}' is more than a group; allowed: a name, or one {group}"),
        ({"kind": "flag", "name": "--trust-remote-code", "op": "set", "value": "true"}, "allowed: with consent: trust-remote-code"),
        ({"kind": "config", "path": "/a", "op": "remove"}, "config needs a file; allowed: config.json, "),
        ({"kind": "config", "file": "config.json", "op": "remove"}, "config needs a path and an op; allowed: path: /KEY, op: set or remove"),
        (EDIT, "config needs a path and an op; allowed: path: /KEY, op: set or remove"),
        ({**EDIT, "op": "set"}, "config set needs a value, config remove none, and neither a name, formula or consent"),
        ({**EDIT, "op": "remove", "value": 1}, "config set needs a value, config remove none"),
        ({**EDIT, "op": "remove", "name": "x"}, "and neither a name, formula or consent"),
        ({**EDIT, "op": "set", "value": 1, "formula": "2"}, "and neither a name, formula or consent"),
        ({**EDIT, "op": "remove", "consent": "install"}, "and neither a name, formula or consent"),
        ({"kind": "config", "of": "other", "op": "remove"}, "config of another patch's takes no op; allowed: when, unless"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_action_is_told_with_what_is_allowed(
    action: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        Action.model_validate(action)
    assert message in str(caught.value)


def test_the_edits_of_another_patch_may_have_circumstances_of_their_own() -> None:
    given = {"kind": "config", "of": "other", "when": {"gpus": ">1"}, "unless": {"gpus": "==3"}}
    assert Action.model_validate(given).of == "other"


def test_groups_are_those_of_names_and_texts_and_not_of_what_a_file_gets() -> None:
    flag = {"kind": "flag", "name": "--x", "op": "set", "value": "{need} of {had}"}
    assert Action.model_validate(flag).groups() == {"need", "had"}
    assert Action.model_validate({"kind": "flag", "name": "{what}", "op": "remove"}).groups() == {"what"}
    assert Action.model_validate({**EDIT, "op": "set", "value": "{need}"}).groups() == set()
