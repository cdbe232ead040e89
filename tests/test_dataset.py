"""Is the data set what its README says, and does its scorer tell right from wrong?"""

from __future__ import annotations

import itertools
import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dataset import check, score, split
from dataset.baselines import catalogue, excerpts

CASES = score.cases()
ACTION = {"kind": "flag", "name": "--max-num-seqs", "op": "set", "value": {"ge": 1, "le": 614}}
LABEL = {
    "verdict": "fault",
    "context": {"vllm_version": "0.28.0", "compute_cap": None, "gpus": 2, "idle_seconds": None},
    "root_cause_contains": ["exceeds available  Mamba cache blocks"],
    "root_cause_not": ["Engine core initialization failed"],
    "category": "kv_cache_memory",
    "category_also": ["gpu_memory"],
    "remedy": {
        "automatic": True,
        "any_of": [[ACTION], [{"kind": "config", "name": "kv_cache_scheme", "op": "remove"}]],
        "forbidden": [{"kind": "flag", "name": "--max-model-len", "op": "set"}],
    },
}
ANSWER = {
    "verdict": "fault",
    "root_cause": {"text": "ValueError: max_num_seqs\nexceeds available Mamba cache blocks (614)"},
    "finding": {"category": "gpu_memory"},
    "remedy": {
        "automatic": True,
        "actions": [{**ACTION, "name": "max_num_seqs", "value": "614"}],
        "advice": [],
    },
}
RIGHT = {
    "verdict": True, "root_cause": True, "category": True, "remedy": True, "remedy_actions": True,
    "forbidden": False, "missed": False,
}  # fmt: skip


def test_every_case_is_one() -> None:
    assert len(CASES) >= 60
    assert check.mistakes() == []


def test_the_splits_are_those_of_the_labels() -> None:
    written = json.loads(split.FILE.read_text())
    assert written == split.splits(CASES, written["sight"])
    assert sorted(itertools.chain(*written["sight"].values())) == [case.id for case in CASES]


@pytest.mark.parametrize(
    ("edit", "mistake"),
    [
        ({"verdict": "broken"}, "verdict"),
        ({"id": "other-01"}, "another id"),
        ({"category_also": ["other"]}, "category_also"),
        ({"root_cause_contains": ["not a word of it"]}, "on no line of the log"),
        ({}, None),
        (lambda label: {"root_cause_not": label["root_cause_contains"][:1]}, "wanted and not"),
        ({"remedy": {**LABEL["remedy"], "forbidden": [{"kind": "flag"}]}}, "wanted and forbidden"),
        ({"why": "seen at /home/alice/models"}, "somebody's home: alice"),
        ({"why": "typed it (env) alice@gpu-01:~/vllm$ vllm serve"}, "somebody's prompt: alice"),
        ({"why": "mail to alice@company.com"}, "an address: alice@company.com"),
        ({"why": "Authorization: Bearer hf_" + "abcdefGH12" * 4}, "a token: hf_abc"),
        ({"why": "the head is at 8.8.4.4 today"}, "a host: 8.8.4.4"),
    ],
)
def test_a_case_that_is_none_is_told(edit: Any, mistake: str | None, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.label["verdict"] == "fault")
    shutil.copytree(case.log.parent, tmp_path / case.id)
    (tmp_path / case.id / "label.json").write_text(
        json.dumps({**case.label, **(edit(case.label) if callable(edit) else edit)})
    )
    told = check.mistakes(tmp_path)
    assert [mistake in line for line in told] == [True] * (mistake is not None)


def test_a_right_answer_is_right_in_all() -> None:
    assert score.judged(LABEL, ANSWER) == RIGHT


@pytest.mark.parametrize(
    ("edit", "marks"),
    [
        ({"verdict": "starting"}, {"verdict": False, "missed": True}),
        ({"verdict": "unknown_fault", "root_cause": None}, {"verdict": False, "root_cause": False}),
        ({"root_cause": "it exceeds available Mamba cache blocks"}, {}),
        ({"root_cause": {"text": "exceeds available Mamba cache blocks" + "\n" * 40}}, {"root_cause": False}),
        (
            {
                "root_cause": {
                    "text": "Engine core initialization failed: exceeds available Mamba cache blocks"
                }
            },
            {"root_cause": False},
        ),
        ({"finding": {"category": "kv_cache_memory"}}, {}),
        ({"finding": {"category": "other"}}, {"category": False}),
        ({"finding": None}, {"category": False}),
    ],
)
def test_what_is_wrong_in_an_answer_is_told(edit: Mapping[str, Any], marks: Mapping[str, bool]) -> None:
    assert score.judged(LABEL, {**ANSWER, **edit}) == {**RIGHT, **marks}


@pytest.mark.parametrize(
    ("remedy", "marks"),
    [
        ({"actions": [{**ACTION, "value": 615}]}, {"remedy": False, "remedy_actions": False}),
        ({"actions": [{**ACTION, "value": None}]}, {"remedy": False, "remedy_actions": False}),
        ({"actions": [{**ACTION, "op": "remove", "value": 1}]}, {"remedy": False, "remedy_actions": False}),
        ({"actions": [{"kind": "config", "path": "/quantization_config/kv_cache_scheme", "op": "set", "value": None}]}, {}),
        ({"actions": [{"kind": "config", "path": "/kv_cache_scheme/type", "op": "remove"}]}, {"remedy": False, "remedy_actions": False}),
        ({"automatic": False}, {"remedy": False}),
        ({"actions": [], "advice": ["lower --max-num-seqs"]}, {"remedy": False, "remedy_actions": False}),
        ({"actions": [{**ACTION, "value": 2}, {"kind": "flag", "name": "max-model-len", "op": "set", "value": 1}]}, {"forbidden": True}),
    ],
)  # fmt: skip
def test_a_remedy_is_taken_by_its_parts(remedy: Mapping[str, Any], marks: Mapping[str, bool]) -> None:
    answer = {**ANSWER, "remedy": {**ANSWER["remedy"], **remedy}}
    assert score.judged(LABEL, answer) == {**RIGHT, **marks}


def test_where_it_must_ask_advice_will_do_and_acting_does_harm() -> None:
    label = {**LABEL, "remedy": {**LABEL["remedy"], "automatic": False}}
    told = {**ANSWER, "remedy": {"automatic": False, "actions": [], "advice": ["lower --max_num_seqs"]}}
    assert score.judged(label, told) == {**RIGHT, "unsafe_automatic": False}
    marks = score.judged(label, ANSWER)
    assert marks == {**RIGHT, "remedy": False, "unsafe_automatic": True}
    assert score.harm(marks)


def test_a_server_that_is_well_is_left_alone() -> None:
    label = {
        **LABEL,
        "verdict": "healthy",
        "category": None,
        "remedy": {"automatic": None, "any_of": [], "forbidden": []},
    }
    assert score.judged(label, {"verdict": "healthy"}) == {
        "verdict": True,
        "false_alarm": False,
        "acts_on_good": False,
    }
    assert score.judged(label, ANSWER) == {"verdict": False, "false_alarm": True, "acts_on_good": True}


def test_an_interval_is_wilsons() -> None:
    assert score.Tally(8, 10).interval() == pytest.approx((0.490, 0.943), abs=0.001)
    assert score.Tally(0, 0).interval() == (0.0, 1.0)


def test_the_scorer_runs_a_tool_and_reads_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    case = next(case for case in CASES if case.label["verdict"] == "healthy")
    part = next(name for name in ("seen", "unseen") if case.id in score.split(f"sight/{name}"))
    tool = tmp_path / "tool.py"
    tool.write_text("import json, sys; print(json.dumps({'verdict': 'healthy', 'asked': sys.argv[1:]}))")
    answer = score.asked_of(f"{sys.executable} {tool} {{log}} --json {{context}}", case, 30)
    assert answer["asked"] == [str(case.log), "--json", *score.context_options(case.label)]
    (tmp_path / "answers.jsonl").write_text(json.dumps({"id": case.id, **answer}) + "\n")
    monkeypatch.setattr(
        sys,
        "argv",
        ["score.py", "--answers", str(tmp_path / "answers.jsonl"), "--json", "--split", f"sight/{part}"],
    )
    assert score.main() == 0
    result = json.loads(capsys.readouterr().out)
    assert case.id not in result["unanswered"]
    assert result["said"]["healthy"]["healthy"] == 1
    assert "false alarm" not in score.shown(result)
    assert result["right"]["verdict"]["times"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--answers", "nowhere.jsonl"], "nowhere.jsonl"),
        (["--answers", "nowhere.jsonl", "--split", "time/tset"], "no split time/tset; there are time/train"),
        (["--command", "no-such-tool {log}"], "no-such-tool"),
    ],
)
def test_what_cannot_be_scored_is_said(
    arguments: list[str], words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["score.py", *arguments])
    assert score.main() == 2
    assert words in capsys.readouterr().err


def test_what_a_context_knows_is_an_option() -> None:
    assert score.context_options(LABEL) == ["--vllm-version", "0.28.0", "--gpus", "2"]


LOG = [
    "INFO 1",
    "ValueError: the cause",
    "RuntimeError: Engine core initialization failed. See root cause above.",
    "bye",
]


@pytest.mark.parametrize(
    ("pick", "line"),
    [
        (excerpts.last_error, 2),
        (excerpts.first_exception, 1),
        (excerpts.last_exception, 2),
        (excerpts.last_but_wrappers, 1),
    ],
)
def test_an_excerpt_is_a_line_of_the_log(pick: Any, line: int) -> None:
    assert pick(LOG) == LOG[line]
    assert pick(["INFO all is well"]) is None


@pytest.mark.parametrize(
    ("text", "idle", "verdict"),
    [
        ("\n".join(LOG), None, "fault"),
        ("INFO loading", 5, "starting"),
        ("INFO loading", 900, "hang"),
        ("ERROR of a try\nINFO Application startup complete.\nINFO 200", None, "healthy"),
        ("INFO Application startup complete.\nTraceback (most recent call last):", None, "fault"),
    ],
)
def test_keywords_give_a_verdict(text: str, idle: int | None, verdict: str) -> None:
    assert excerpts.by_keywords(text, {"idle_seconds": idle})["verdict"] == verdict


def test_the_logs_that_deploy_is_tested_by_are_read_as_examples() -> None:
    by_verdict = {example.verdict: example for example in itertools.islice(catalogue.examples(), 40)}
    fault = by_verdict["fault"]
    assert fault.category == "attention_backend"
    assert any(map(fault.is_cause, fault.text.split("\n")))
    assert "healthy" in by_verdict
