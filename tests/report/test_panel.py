"""The failure panel: what decides stays in it, an unknown failure is as careful as a known one."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.diagnosis.verdict import Diagnosis, Finding, Folded, Remedy, RootCause
from orchestrator.patches.match import Match
from orchestrator.patches.patch import Patch
from orchestrator.patches.proposal import ProposedAction, ProposedWay
from orchestrator.plan.change import worked_out
from orchestrator.remedy.choose import Decision
from orchestrator.report.diagnosis_text import diagnosis_lines
from orchestrator.report.layout import plain
from orchestrator.report.panel import LONGEST_CAUSE, LONGEST_DIFF, condensed, finding, panel_text
from tests.report.snapshots import check
from tests.report.test_tables import CAUSE


def test_a_selectors_refusal_is_cut_to_what_decides() -> None:
    assert condensed(CAUSE) == (
        "ValueError: No valid attention backend found for cuda ... kv_cache_dtype=fp8_e4m3 ... "
        "TRITON_MLA: [kv_cache_dtype not supported]"
    )


def test_of_another_long_cause_both_ends_stay() -> None:
    cause = "OddError: " + "word " * 200 + "the end"
    assert len(condensed(cause)) <= LONGEST_CAUSE + 10
    assert condensed(cause).startswith("OddError: word")
    assert condensed(cause).endswith("the end")
    assert condensed("short") == "short"


@pytest.mark.parametrize(
    "refusal",
    [
        "nvcc fatal   : Unknown option '--compress-mode=size'", "ptxas fatal   : Value 'sm_103a' is not defined for option 'gpu-name'",
        "/usr/include/a.h(17): error: expected a declaration", "csrc/a.cu:7:3: fatal error: nv/target: No such file or directory",
        "/usr/bin/ld: cannot find -lcuda: No such file or directory", "collect2: error: ld returned 1 exit status",
    ],
)  # fmt: skip
def test_of_what_a_compiler_printed_the_line_stays_in_which_it_refuses(refusal: str) -> None:
    command = "[1/5] /usr/local/cuda/bin/nvcc " + "-I/opt/include/x " * 60
    cause = f"RuntimeError: Ninja build failed. Ninja output:\n{command}\nFAILED: a.o\n{refusal}\nninja: build stopped."
    assert condensed(cause) == f"RuntimeError: Ninja build failed. Ninja output: {refusal}"


def test_an_unknown_failure_says_what_was_ruled_out_and_where_the_bundle_is() -> None:
    root = RootCause(
        text="LedgerTornError: page 4 of the ledger is torn",
        line=812,
        process="Worker_TP4",
        exception="LedgerTornError",
    )
    diagnosis = Diagnosis(
        verdict="unknown_fault", root_cause=root, folded=Folded(processes=("Worker_TP0",), lines=93)
    )
    words = finding(
        diagnosis,
        Decision(None, "no patch knows it"),
        launch=2,
        log_name="vllm.log",
        known=31,
        bundle="/home/me/bundle.tar.gz",
    )
    check("panel-unknown", panel_text(words, ""))


def test_a_long_diff_is_cut_and_says_so() -> None:
    diff = "--- a/config.json\n+++ b/config.json\n@@ -1,9 +1,9 @@\n" + "".join(
        f"-{'x' * 100}{number}\n" for number in range(40)
    )
    words = dict.fromkeys(("cause", "where", "why", "remedy", "cost", "ruled_out", "bundle"), "")
    lines = panel_text(words, diff).splitlines()
    assert max(len(line) for line in lines) <= 80
    assert lines[1].strip() == "config.json"
    assert sum("xxx" in line for line in lines) == LONGEST_DIFF - 1
    assert "17 more lines: deploy diff" in lines[-1] or "17 more lines: deploy diff" in lines[-2]


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        ((("flag", "--max-model-len", "set"),), "reversible"),
        ((("env", "NCCL_P2P_DISABLE", "set"),), "reversible"),
        ((("cleanup", "orphan_processes", None),), "cannot be undone"),
        ((("cleanup", "compile_cache", None),), "cannot be undone"),
        ((("redownload", "*", None),), "cannot be undone"),
        (
            (("env", "A", "set"), ("cleanup", "shm", None)),
            "settings reversible, what is removed is not",
        ),
    ],
)
def test_what_cannot_be_put_back_is_not_called_reversible(
    actions: tuple[tuple[Any, str, Any], ...], words: str
) -> None:
    proposed = tuple(ProposedAction(kind=kind, name=name, op=op, value="1") for kind, name, op in actions)
    patch = Patch(id="x", title="x", category="other", match=(Match(pattern="x"),), advice=("a",))
    change = worked_out(ProposedWay(actions=proposed), patch, why="finding", evidence="", configs={})
    told = finding(Diagnosis(verdict="fault"), Decision(change, ""), launch=1, log_name="vllm.log", known=1)
    assert told["remedy"] == f"x: {change.action} (automatic, {words})"
    remedy = Remedy(automatic=True, actions=proposed, advice=())
    lines = diagnosis_lines(Diagnosis(verdict="fault", remedy=remedy), "vllm.log", known=1, packing="")
    text = " ".join("".join(span for span, _ in line).strip() for line in lines)
    assert text.count("reversible") == sum(kind in ("flag", "env") for kind, _, _ in actions)
    assert text.count("cannot be undone") == sum(kind in ("cleanup", "redownload") for kind, _, _ in actions)


GUESS = Finding(
    patch="mine", category="other", title="It broke", explanation="", confidence="likely", tells=("df -h",)
)


def test_a_cause_that_is_only_likely_is_called_so_with_what_would_tell() -> None:
    diagnosis = Diagnosis(
        verdict="fault", finding=GUESS, remedy=Remedy(automatic=False, actions=(), advice=())
    )
    lines = [plain(line) for line in diagnosis_lines(diagnosis, "vllm.log", known=1, packing="")]
    assert lines[0].split(maxsplit=1) == ["failed", "the cause is likely, not proven"]
    assert lines[-1].split(maxsplit=2) == ["would", "tell", "df -h"]
    words = finding(diagnosis, Decision(None, "a guess"), launch=1, log_name="vllm.log", known=1)
    assert (words["why"], words["would_tell"]) == ("likely: It broke", "df -h")
    assert "would tell  df -h" in panel_text(words, "")


def test_of_a_group_the_panel_says_on_which_host_and_what_the_others_said() -> None:
    sentences = ["gpu-b, by 2 logs read together", "gpu-a: waits for the others where the ranks meet"]
    words = finding(
        Diagnosis(verdict="unknown_fault"),
        Decision(None, ""),
        launch=1,
        log_name="vllm.log",
        known=1,
        hosts=sentences,
    )
    text = panel_text(words, "")
    assert "      hosts       gpu-b, by 2 logs read together\n                  gpu-a: waits for" in text
