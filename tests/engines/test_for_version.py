"""What a version of vLLM is launched with, and what it would refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.engines.command_line import canonical
from orchestrator.engines.options import Option, Wanted
from orchestrator.engines.variable import Variable
from orchestrator.engines.vllm.engine import ENGINE
from orchestrator.engines.vllm.option_table import releases
from orchestrator.engines.vllm.options import VllmOptions
from orchestrator.engines.vllm.releases import table, within
from orchestrator.plan import resolve
from orchestrator.playbook import playbook
from tests import yaml_data

CASES: list[dict[str, Any]] = yaml_data.load(Path(__file__).parent / "cases" / "for_version.yaml")
COMMON = ("model", "served-model-name", "host", "port", "tensor-parallel-size", "max-model-len")


def launch(asked: dict[str, Any], environment: dict[str, str] | None = None) -> VllmOptions:
    def option(value: Any) -> Option[Any]:
        return Option(value, "playbook")

    return VllmOptions.of(
        Wanted(
            python="/p", folder=option("/m"), served_name=option("m"), listen=option("127.0.0.1"), port=option(8000),
            tensor=option(1), pipeline=option(1), data=option(1), context=option(4096),
            arguments={canonical(name): option(value) for name, value in asked.items()},
            environment=tuple(Variable(name, text, "", "playbook") for name, text in (environment or {}).items()),
        )
    )  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['version']} {json.dumps(case['asked'])}")
def test_cases(case: dict[str, Any]) -> None:
    version = str(case["version"])
    options = launch(case["asked"]).for_version(version)
    objections = options.objections(version)
    launched = {name: option.value for name, option in options.given.items() if name not in COMMON}
    asked = {canonical(name): value for name, value in case["asked"].items()}
    assert launched == case.get("launched", asked)
    assert options.sent == case.get("variables", {})
    assert [objection.code for objection in objections] == [code for code in [case.get("code")] if code]
    assert [objection.known.get("argument") for objection in objections if "argument" in case] == [
        argument for argument in [case.get("argument")] if argument
    ]
    sentences = [note.sentence for note in options.adaptations] + [each.sentence for each in objections]
    assert case.get("says", "") in "\n".join(sentences)
    assert bool(options.adaptations) == ("launched" in case)
    assert options.for_version(version) == options


@pytest.mark.parametrize("path", sorted(shipped("playbooks").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_playbook_is_launched_as_it_is_written_by_every_release_that_it_takes(path: Path) -> None:
    found = playbook.load(path)
    options = resolve.requested(found, python="/p", folder="/m")
    for version in (str(release) for release in releases().read if found.engine.accepts(str(release))):
        assert options.objections(version) == (), version
        assert options.for_version(version) == options


def test_what_stands_for_an_option_is_an_option_of_some_release() -> None:
    """A name that is misspelt here would never be launched."""
    known, renames = table("options.json")["options"], table("renames.json")
    meant = [
        option for values in renames["by_value"].values() for options in values.values() for option in options
    ]
    named = [
        *(name for pair in renames["same"] for name in pair),
        *renames["by_value"],
        *renames["variable"],
        *meant,
    ]
    named += [*renames["left_out"], *renames["instead"], *renames["doubtful"]]
    assert {name.partition(".")[0].removeprefix("no-") for name in named} <= known.keys()
    gone = {name for name, each in known.items() if not within(each["in"], releases().newest)}
    handled = {name for name in named if "." not in name} | {
        "compilation-config.level",
        "structured-outputs-config.disable_fallback",
    }
    assert gone <= handled


def test_variables_that_a_release_does_not_read() -> None:
    names = dict.fromkeys(["VLLM_ATTENTION_BACKEND", "VLLM_ENGINE_READY_TIMEOUT_S", "HOME"], "1")
    options = launch({}, names)
    assert options.not_taken("0.14.1") == ()
    (sentence,) = options.not_taken("0.15.0")
    assert (
        sentence
        == "vLLM 0.15.0 does not read VLLM_ATTENTION_BACKEND, only 0.10.0 to 0.14.1 did; use --attention-backend"
    )
    assert ["VLLM_ENGINE_READY_TIMEOUT_S" in each for each in options.not_taken("0.13.0")] == [True]
    (near,) = launch({}, {"VLLM_HOST_IPP": "1"}).not_taken("0.24.0")
    assert near == "vLLM 0.24.0 reads no variable VLLM_HOST_IPP; did you mean VLLM_HOST_IP?"
    (gone,) = launch({}, {"VLLM_ATTENTION_BACKEDN": "1"}).not_taken("0.24.0")
    assert gone.endswith("; VLLM_ATTENTION_BACKEND was one in 0.10.0 to 0.14.1")


def test_of_a_newer_version_nothing_is_refused_and_that_is_said() -> None:
    options = launch({"no-such-thing": 1}, {"VLLM_NO_SUCH_THING": "1"})
    assert options.objections("0.34.0") == ()
    (sentence,) = options.not_taken("0.34.0")
    assert sentence.startswith("vLLM 0.34.0 is newer than what is known here (0.33.0)")
    assert options.not_taken("0.9.2") == ()


@pytest.mark.parametrize(
    ("version", "fits"), [("0.13.0", False), ("0.14.0", True), ("0.33.0", True), ("dev", False)]
)
def test_which_versions_take_a_context_that_is_left_to_them(version: str, fits: bool) -> None:
    assert ENGINE.fits_context(version) is fits
    left = launch({}).changed({"max-model-len": Option("auto", "playbook")})
    sentences = [objection.sentence for objection in left.objections(version)]
    assert all(sentence.endswith("(auto came in 0.14.0); set context instead") for sentence in sentences)
    assert bool(sentences) is (not fits and version != "dev")


def test_a_value_that_some_models_are_refused_with() -> None:
    (sentence,) = launch({"kv-cache-dtype": "float16"}).not_taken("0.33.0")
    assert sentence.endswith("leave the option out (auto) (vLLM 0.33.0)")
    assert launch({"kv-cache-dtype": "float16"}).not_taken("0.32.0") == ()


def test_what_a_remedy_sets_is_told_and_not_refused() -> None:
    options = launch({}).remedied({"--moe-backend": "triton"}, {})
    assert options.objections("0.16.0") == ()
    assert options.not_taken("0.16.0") == ("vLLM 0.16.0 has no option --moe-backend, which came in 0.17.0",)
    assert launch({}).remedied({"--swap-space": "4"}, {}).for_version("0.24.0").value("swap-space") is None


def test_a_variable_that_is_set_is_not_set_again() -> None:
    options = launch({"attention-backend": "x"}, {"VLLM_ATTENTION_BACKEND": "FLASHMLA"}).for_version("0.12.0")
    assert options.sent == {"VLLM_ATTENTION_BACKEND": "FLASHMLA"}
    assert options.adaptations[0].sentence.startswith(
        "--attention-backend x: VLLM_ATTENTION_BACKEND is given as well"
    )
