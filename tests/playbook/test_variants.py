"""Other forms of a playbook's model: what they take over, how they are called and found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.base.errors import UsageError
from orchestrator.playbook import playbook
from orchestrator.playbook.names import called, variants_in

GLM = """\
description: GLM
model: {repository: zai-org/GLM, precision: bf16}
engine: {version: ">=0.11", python: ~/ml/bin/python3}
context: 4096
arguments: {block-size: 64}
environment: {VLLM_LOGGING_LEVEL: {value: DEBUG, reason: to see it}}
figures: {weights_bytes: 100, kv_cache: bf16, shards: 3, layers: 61}
sources: [{fact: flags, source: a recipe, date: 2026-08-21}]

variants:   # by what the weights are stored as
  # half of it
  fp8:
    model: {repository: zai-org/GLM-FP8, precision: fp8}
    engine: {version: ">=0.12"}
    figures: {weights_bytes: 50}
    sources: [{fact: size, source: a listing, date: 2026-09-01}]

  awq:
    model: {repository: somebody/GLM-AWQ}
    arguments: {quantization: awq}
    context: 2048
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "glm.yaml").write_text(GLM)
    return tmp_path


def test_a_variant_takes_over_what_it_does_not_state(folder: Path) -> None:
    fp8 = playbook.find("glm-fp8", [folder])
    assert (fp8.name, fp8.served_name, fp8.folder) == ("glm-fp8", "glm-fp8", "~/models/glm-fp8")
    assert (fp8.model.repository, fp8.model.precision) == ("zai-org/GLM-FP8", "fp8")
    assert (fp8.engine.version, fp8.engine.python) == (">=0.12", "~/ml/bin/python3")
    assert (fp8.context, fp8.arguments) == (4096, {"block-size": 64})
    assert fp8.environment["VLLM_LOGGING_LEVEL"].reason == "to see it"
    assert [source.fact for source in fp8.sources] == ["flags", "size"]


def test_what_other_files_weigh_is_not_taken_over(folder: Path) -> None:
    fp8, awq = (playbook.find(name, [folder]).figures for name in ("glm-fp8", "glm-awq"))
    assert (fp8.weights_bytes, fp8.kv_cache, fp8.shards, fp8.layers) == (50, None, None, 61)
    assert (awq.weights_bytes, awq.layers) == (None, 61)


def test_a_files_own_form_is_as_it_stands(folder: Path) -> None:
    own, *others = playbook.with_variants(folder / "glm.yaml")
    assert own == playbook.find("glm", [folder]) == playbook.load(folder / "glm.yaml")
    assert own.figures.weights_bytes == 100
    assert [each.name for each in others] == ["glm-fp8", "glm-awq"]
    assert others[1].arguments == {"block-size": 64, "quantization": "awq"}
    assert others[1].context == 2048


def test_a_file_of_that_name_goes_before_a_variant(folder: Path) -> None:
    (folder / "glm-fp8.yaml").write_text("model: {repository: mine/GLM}\ncontext: 1\n")
    assert playbook.find("glm-fp8", [folder]).model.repository == "mine/GLM"


def test_a_variant_that_nobody_has_gets_the_nearest(folder: Path) -> None:
    assert called([folder]) == ("glm", "glm-fp8", "glm-awq")
    with pytest.raises(UsageError, match=r"did you mean glm-fp8"):
        playbook.find("glm-fp4", [folder])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (
            "  int4: {model: {repository: a/b}, figures: {weight: 1}}",
            ":22: variants.int4.figures.weight: is not",
        ),
        ("  int4: {figures: {layers: 1}}", ":22: variants.int4.model: is missing"),
        ("  int4: {model: {repository: a/b}, arguments: {port: 1}}", "variants.int4: arguments"),
        (
            "  int4: {model: {repository: a/b}, needs: {gpus: 1}, parallel: {tensor: 2}}",
            "variants.int4: needs",
        ),
        ("  INT4: {model: {repository: a/b}}", "INT4"),
        ("  int4: {model: {repository: a/b}, environment: {HF_TOKEN: hf_x}}", "variants.int4: environment"),
    ],
)
def test_a_wrong_variant_is_told(folder: Path, wrong: str, says: str) -> None:
    path = folder / "glm.yaml"
    path.write_text(f"{GLM}{wrong}\n")
    with pytest.raises(UsageError) as caught:
        playbook.load(path)
    assert caught.value.code == "invalid_playbook"
    assert says in caught.value.message


@pytest.mark.parametrize("text", ["", "variants:\n", "variants: {}\n", "variants:\nmodel: {}\n", "\x00\xff"])
def test_a_file_without_variants_names_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    assert variants_in(tmp_path / "x.yaml") == ()


def test_a_variant_that_looks_like_a_number_is_written_as_text(folder: Path) -> None:
    (folder / "glm.yaml").write_text(f'{GLM}  "0528":\n    model: {{repository: zai-org/GLM-0528}}\n')
    assert playbook.find("glm-0528", [folder]).model.repository == "zai-org/GLM-0528"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.yaml")
    assert called([tmp_path]) == ("x",)


def test_only_a_playbook_that_chooses_may_leave_the_context_out(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("model: {repository: a/b}\nchoose: true\n")
    open_ = playbook.load(path)
    assert (open_.choose, open_.origin("context")) == (True, "default")
    assert open_.with_overrides(["port=1"]).origin("context") == "default"
    assert open_.with_overrides(["context=1"]).context == 1
    path.write_text("model: {repository: a/b}\n")
    with pytest.raises(UsageError, match="context: is missing"):
        playbook.load(path)


def test_how_another_form_is_stored_is_not_taken_over(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(
        """\
model: {repository: a/b}
context: 1
figures: {config: {model_type: qwen3, quantization_config: {quant_method: fp8}}}
variants:
  bf16: {model: {repository: a/c}}
"""
    )
    own, other = playbook.with_variants(tmp_path / "x.yaml")
    assert set(own.figures.config) == {"model_type", "quantization_config"}
    assert set(other.figures.config) == {"model_type"}
