"""Plans for the flagship, on hosts that only these tests know."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.cli.hints import after
from orchestrator.facts import machine
from orchestrator.facts.source import Output, Unknown
from orchestrator.patches import catalogue
from orchestrator.plan.plan import Plan, make_plan
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook import playbook as playbooks
from orchestrator.playbook.playbook import Playbook
from orchestrator.report.plan_text import summary
from orchestrator.survey.survey import Survey
from tests.surveys import (
    CONFIG,
    FILES,
    NEVER_LAUNCHED,
    NO_FILES,
    WHOLE,
    cards,
    knowing,
    listener,
    survey,
)

PATCHES = catalogue.load([shipped("patches")])


@pytest.fixture
def kimi() -> Playbook:
    return playbooks.find("kimi-k2.5", [shipped("playbooks")])


def plan(playbook: Playbook, found: Survey, **wishes: Any) -> Plan:
    return make_plan("gpu7", playbook, found, Wishes(patches=PATCHES, **wishes))


def with_config(**text_config: Any) -> Survey:
    config = {**CONFIG, "text_config": {**CONFIG["text_config"], **text_config}}
    return survey(checkpoint=replace(WHOLE, configs={**FILES, "config.json": json.dumps(config).encode()}))


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e400", "1e300", "9" * 5000])
@pytest.mark.parametrize("option", ["gpu-memory-utilization", "decode-context-parallel-size"])
def test_an_option_that_is_no_number_to_reckon_with(kimi: Playbook, option: str, value: str) -> None:
    odd = kimi.with_overrides((), (f"{option}={value}",))
    assert plan(odd, survey()).fit == plan(kimi, survey()).fit


def test_a_record_whose_context_is_no_number(kimi: Playbook) -> None:
    for value in ("9" * 5000, "nan", "inf", "\u0663"):
        record = {
            "action": "patch",
            "patch": "x",
            "folder": WHOLE.folder,
            "flags": {"--max-model-len": value},
        }
        assert plan(kimi, survey(journal=[record])).options.argv


def test_the_flagship_is_patched_before_its_first_launch_and_fits(kimi: Playbook) -> None:
    planned = plan(kimi, survey()).as_json()
    assert [(one["patch"], one["certainty"]) for one in planned["predictions"]] == [("fp8-kv-mla", "certain")]
    assert [one["file"] for one in planned["patches"]] == ["config.json", "hf_quant_config.json"]
    assert '-        "kv_cache_scheme": {' in planned["patches"][0]["diff"]
    assert planned["fit"]["verdict"] == "fits"
    assert planned["fit"]["kv_bytes_per_token"] == 70_272
    assert 70 < planned["fit"]["weights_gib_per_gpu"] < 71
    command = planned["command"]
    assert command[command.index("--max-model-len") + 1] == "131072"
    assert command[command.index("--tensor-parallel-size") + 1] == "8"
    assert command[:3] == ["/home/ml/ml-env/bin/python3", "-m", "vllm.entrypoints.openai.api_server"]
    assert "--disable-log-requests" not in command
    length = {"name": "max-model-len", "value": 131072, "origin": "playbook"}
    assert length in planned["options"]
    environment = {one["name"]: one for one in planned["environment"]}
    assert environment["NCCL_P2P_LEVEL"]["value"] == "SYS"
    assert all(environment[name]["reason"] for name in ("NCCL_P2P_LEVEL", "NCCL_PROTO"))
    assert planned["refusals"] == []
    assert planned["missing_consents"] == []


def test_before_the_files_are_there_the_figures_speak(kimi: Playbook) -> None:
    planned = plan(kimi, survey(checkpoint=NO_FILES)).as_json()
    assert [one["certainty"] for one in planned["predictions"]] == ["certain"]
    assert "figures" in planned["predictions"][0]["evidence"]
    assert planned["fit"]["verdict"] == "fits"
    assert planned["fit"]["kv_bytes_per_token"] == 70_272


@pytest.mark.parametrize(
    "found",
    [
        survey(version="0.13.0"),
        survey(version="0.18.0"),
        survey(version="0.33.0"),
        survey(gpus=cards(cap="10.0")),
        survey(gpus=cards(cap="9.0")),
        survey(gpus=cards(cap=None)),
        survey(checkpoint=NO_FILES, version="0.18.1"),
        with_config(index_topk=2048),
    ],
    ids=["0.13", "0.18", "0.33", "B200", "H200", "unknown-card", "0.18-without-files", "sparse"],
)
def test_outside_the_window_nothing_is_predicted(kimi: Playbook, found: Survey) -> None:
    planned = plan(kimi, found)
    assert planned.changes == ()
    assert planned.as_json()["patches"] == []


def test_a_checkpoint_that_is_patched_already_needs_nothing(kimi: Playbook) -> None:
    patched = plan(kimi, survey()).changes[0].edits
    assert patched is not None
    again = plan(kimi, survey(checkpoint=replace(WHOLE, configs={**FILES, **patched.after})))
    assert again.changes == ()
    assert again.fit.kv_bytes_per_token == 70_272


def test_a_context_that_no_longer_fits_shrinks_in_the_same_step(kimi: Playbook) -> None:
    longer = kimi.with_overrides(["context=262144"])
    unpatched = plan(longer, survey(), predict=False)
    assert unpatched.fit.verdict == "fits"  # 262144 tokens in FP8 take 8.6 GiB
    planned = plan(longer, survey())
    (change,) = planned.changes
    length = planned.options.argv[planned.options.argv.index("--max-model-len") + 1]
    assert change.flags == {"--max-model-len": length}
    assert 131_072 <= int(length) < 262_144 and int(length) % 16 == 0
    assert planned.fit.verdict == "fits"


def test_an_explicit_fp8_flag_is_dropped_and_the_files_that_then_decide_are_edited(kimi: Playbook) -> None:
    flagged = kimi.with_overrides(engine_args=["kv-cache-dtype=fp8"])
    (change,) = plan(flagged, survey()).changes
    assert change.flags == {"--kv-cache-dtype": None}
    assert change.edits is not None and sorted(change.edits.after) == sorted(FILES)
    assert "--kv-cache-dtype" not in plan(flagged, survey()).options.argv
    plain = json.loads(FILES["config.json"])
    del plain["quantization_config"]["kv_cache_scheme"]
    unasked = survey(checkpoint=replace(WHOLE, configs={"config.json": json.dumps(plain).encode()}))
    (change,) = plan(flagged, unasked).changes
    assert (change.flags, change.edits) == ({"--kv-cache-dtype": None}, None)


def test_no_predict_skips_what_it_predicts_and_says_so(kimi: Playbook) -> None:
    planned = plan(kimi, survey(), predict=False)
    assert planned.changes == ()
    (prediction,) = planned.as_json()["predictions"]
    assert prediction["action"].startswith("skipped")
    assert "skipped (--no-predict)" in "\n".join(summary(planned))


def test_a_forced_patch_says_so_and_a_forbidden_one_is_gone(kimi: Playbook) -> None:
    on_hopper = survey(gpus=cards(cap="9.0"))
    (change,) = plan(kimi, on_hopper, forced=("fp8-kv-mla",)).changes
    assert (change.why, change.evidence) == ("forced", "asked for by name")
    assert plan(kimi, survey(), forbidden=("fp8-kv-mla",)).changes == ()


def test_a_patch_in_force_is_put_on_again_where_a_download_restored_the_file(kimi: Playbook) -> None:
    record = {
        "action": "patch",
        "patch": "fp8-kv-mla",
        "folder": WHOLE.folder,
        "files": [{"name": "config.json", "before": "a", "after": "b"}],
        "flags": {"--max-model-len": "65536"},
    }
    planned = plan(kimi, survey(version="0.24.0", journal=[record]))
    (change,) = planned.changes
    assert (change.why, change.evidence) == ("again", "in force since an earlier launch")
    assert planned.as_json()["predictions"] == []  # it is no guess
    assert planned.options.argv[planned.options.argv.index("--max-model-len") + 1] == "65536"


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (survey(version=None), "no_engine"),
        (survey(version="0.14.1"), "engine_version"),
        (survey(gpus=cards(4)), "gpus_missing"),
        (survey(gpus=cards(memory_mib=81559)), "gpu_memory"),
        (survey(gpus=Unknown("no_such_program", "nvidia-smi does not exist on the host")), "gpus_unknown"),
        (
            survey(
                observed=replace(
                    NEVER_LAUNCHED,
                    listener=listener(pid=8121, command="sglang", user="ml", since="09:12"),
                )
            ),
            "port_taken",
        ),
    ],
)
def test_what_forbids_a_launch_is_refused_by_name(kimi: Playbook, found: Survey, code: str) -> None:
    (refusal,) = plan(kimi, found).refusals
    assert refusal.code == code
    assert after(refusal, "deploy kimi-k2.5")


def test_a_config_that_cannot_be_read_is_named_and_not_taken_for_absent(kimi: Playbook) -> None:
    found = survey(checkpoint=replace(WHOLE, configs={}, broken={"config.json": "is no JSON object"}))
    (warning, *_) = plan(kimi, found).warnings
    assert warning == f"config.json in {WHOLE.folder} is no JSON object: this plan is made without it"


def test_the_next_port_is_one_that_exists(kimi: Playbook) -> None:
    taken = listener(pid=1, command="sglang", user="ml", since="09:12")
    found = survey(observed=replace(NEVER_LAUNCHED, listener=taken))
    for port, following in ((8000, 8001), (65535, 8000)):
        (refusal,) = plan(kimi.model_copy(update={"port": port}), found).refusals
        assert after(refusal, "deploy kimi") == f"deploy kimi --set port={following}"


@pytest.mark.parametrize(
    ("asked", "following"),
    [
        (Unknown("no_engine", "none"), "deploy kimi --set engine.install=vllm==0.19.1"),
        (Unknown("no_engine_python", "no such file"), "deploy kimi --set engine.install=vllm==0.19.1"),
        (Unknown("engine_python", "no Python"), "deploy kimi --set engine.python=PATH"),
    ],
)
def test_what_brings_an_engine(kimi: Playbook, asked: Unknown, following: str) -> None:
    found = knowing(survey(), engine=asked)
    spaced = kimi.model_copy(
        update={
            "engine": kimi.engine.model_copy(
                update={"python": "~/ml env/bin/python3", "version": ">=0.15,<0.20"}
            )
        }
    )
    assert [after(refusal, "deploy kimi") for refusal in plan(spaced, found).refusals] == [following]


def test_a_context_that_does_not_fit_or_hardly_fits_is_the_first_warning(kimi: Playbook) -> None:
    for context, verdict in ((150_000, "fits"), (200_000, "borderline"), (10_000_000, "does_not_fit")):
        bf16 = kimi.with_overrides([f"context={context}"], ["kv-cache-dtype=bfloat16"])
        planned = plan(bf16, survey(version="0.33.0"))
        assert planned.fit.verdict == verdict
        assert (planned.warnings[:1] == (planned.fit.reason,)) is (verdict != "fits")


@pytest.mark.parametrize(("version", "offered"), [("0.16.0", False), ("0.20.2", True)])
def test_fp8_is_no_way_to_a_longer_context_where_a_patch_knows_that_it_fails(
    kimi: Playbook, version: str, offered: bool
) -> None:
    long = kimi.with_overrides(["context=262144"], ["kv-cache-dtype=bfloat16"])
    ways = plan(long, survey(), engine_version=version, forbidden=("kv-dtype-not-in-kernel",)).fit.ways
    assert (ways[-1].what, ways[-1].gpus) == ("tensor parallel 16", 16)
    assert (("arguments.kv-cache-dtype=fp8",) in [way.settings for way in ways]) is offered


@pytest.mark.parametrize(
    ("mirror", "consents", "given"),
    [(None, (), True), ("https://mirror", (), False), ("https://mirror", ("token-to-endpoint",), True)],
)
def test_the_hubs_token_goes_to_a_mirror_with_a_consent_alone(
    kimi: Playbook, mirror: str | None, consents: tuple[str, ...], given: bool
) -> None:
    told = kimi.with_overrides(env=["HF_TOKEN=hushed"] + [f"HF_ENDPOINT={mirror}"] * bool(mirror))
    planned = plan(told, survey(), consents=consents)
    warning = (
        "HF_TOKEN is not given to the engine, whose HF_ENDPOINT is not https://huggingface.co: "
        "--consent token-to-endpoint gives it"
    )
    assert (planned.options.variable("HF_TOKEN") is not None) == given
    assert (warning in planned.warnings) != given
    assert planned.token_consent is bool(consents)


def test_a_mirror_that_the_host_itself_is_set_to_gets_no_token_either(kimi: Playbook) -> None:
    here = machine.parse(Output(0, "hf_endpoint=https://mirror\n"))
    told = kimi.with_overrides(env=["HF_TOKEN=hushed", "HUGGING_FACE_HUB_TOKEN=hushed"])
    planned = plan(told, knowing(survey(), machine=here))
    assert planned.options.variable("HF_TOKEN") is None
    assert any(line.startswith("HF_TOKEN, HUGGING_FACE_HUB_TOKEN is not") for line in planned.warnings)


def test_the_whole_plan_for_programs(kimi: Playbook) -> None:
    planned = plan(kimi, survey())
    told = planned.as_json()
    assert {key: told[key] for key in ("host", "playbook", "name", "engine", "command")} == {
        "host": "gpu7",
        "playbook": "kimi-k2.5",
        "name": "kimi-k2.5",
        "engine": {"kind": "vllm", "version": planned.version, "python": planned.options.python},
        "command": [*planned.options.argv],
    }
    fit = {key: getattr(planned.fit, key) for key in ("verdict", "reason", "kv_bytes_per_token")}
    fit["max_model_len"] = planned.fit.longest_context
    assert planned.fit.weights_gib_per_gpu is not None
    assert planned.fit.needed_gib is not None
    fit["kv_gib_per_request"] = round(planned.fit.needed_gib, 2)
    fit["max_model_len_by_kv_dtype"] = {"bf16": 151776, "fp8": 303552}
    fit["would_fit"] = []
    fit["overhead_gib"] = {"optimistic": 3.3, "safe": 5.0}
    assert told["fit"] == {**fit, "weights_gib_per_gpu": round(planned.fit.weights_gib_per_gpu, 2)}
    assert {"name": "NCCL_PROTO", "value": "LL", "origin": "playbook"}.items() <= next(
        item for item in told["environment"] if item["name"] == "NCCL_PROTO"
    ).items()
    (guess,) = told["predictions"]
    (change,) = planned.changes
    assert guess == {
        "patch": "fp8-kv-mla",
        "certainty": "certain",
        "evidence": change.evidence,
        "action": change.action,
    }
    assert told["patches"] == [
        {"patch": "fp8-kv-mla", "file": name, "diff": diff} for name, diff in change.file_diffs.items()
    ]
    assert told["warnings"] == [*planned.warnings]
    assert json.loads(json.dumps(told)) == told


def test_what_is_predicted_and_not_wished_for_is_told_as_skipped(kimi: Playbook) -> None:
    told = plan(kimi, survey(), predict=False).as_json()
    assert [item["action"].startswith("skipped: ") for item in told["predictions"]] == [True]
    assert told["patches"] == []
    assert plan(kimi, survey(), forbidden=("fp8-kv-mla",)).as_json()["predictions"] == []


def test_what_is_refused_and_what_consent_is_missing_is_told_with_its_code(kimi: Playbook) -> None:
    told = plan(kimi, survey(gpus=cards(4))).as_json()
    assert told["refusals"]
    assert all(refusal["code"] and refusal["message"] for refusal in told["refusals"])
    bare = kimi.model_copy(update={"consents": ()})
    assert plan(bare, survey()).as_json()["missing_consents"] == ["trust-remote-code", "listen-openly"]
    assert plan(bare, survey(), yes=True).missing_consents == ()
    assert plan(bare, survey(), consents=("trust-remote-code",)).missing_consents == ("listen-openly",)
