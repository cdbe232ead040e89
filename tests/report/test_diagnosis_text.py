"""How a diagnosis is told to a person, on 80 columns."""

from __future__ import annotations

import pytest

from orchestrator.diagnosis.verdict import Diagnosis, EvidenceLine, Remedy, RootCause
from orchestrator.patches.proposal import ProposedAction
from orchestrator.report.diagnosis_text import diagnosis_lines, same
from orchestrator.report.layout import plain
from tests.report.oddities import oddities

LONG = "/srv/" + "a-long-folder/" * 12 + "model.safetensors"
CAUSE = RootCause(text=f"OSError: no such file {LONG}", line=7, process="Worker_TP0", exception="OSError")


def told(found: Diagnosis, file: str = "vllm.log") -> list[str]:
    return [plain(line) for line in diagnosis_lines(found, file, known=3, packing=f"pack {file} --bundle")]


def remedied(kind: str, name: str, value: str | None = None) -> str:
    action = ProposedAction(kind=kind, name=name, op="set" if value else None, value=value)  # type: ignore[arg-type]
    found = Diagnosis(verdict="fault", remedy=Remedy(automatic=True, actions=(action,)))
    return " ".join(" ".join(told(found)[1:]).split())


def test_whatever_is_told_fits_and_a_place_keeps_its_end() -> None:
    found = Diagnosis(
        verdict="unknown_fault", root_cause=CAUSE, evidence=(EvidenceLine(line=8, text=LONG * 3),)
    )
    assert oddities(found) == []
    lines = told(found, LONG)
    assert all(len(line) <= 80 for line in lines)
    assert any(line.endswith("a-long-folder/model.safetensors:7") for line in lines)


def test_the_command_of_a_next_step_has_a_line_of_its_own_and_can_be_pasted() -> None:
    lines = told(Diagnosis(verdict="unknown_fault", root_cause=CAUSE))
    assert lines[-1].strip() == "pack vllm.log --bundle"
    lines = told(Diagnosis(verdict="unknown_fault", root_cause=CAUSE), "a" * 60)
    assert [line.strip() for line in lines[-2:]] == [f"pack {'a' * 60} \\", "--bundle"]


def test_where_the_reason_is_missing_the_next_step_is_to_get_it() -> None:
    cause = CAUSE.model_copy(update={"missing": True})
    advice = Remedy(advice=("The line that says why is elsewhere:\ngrep x *.log",))
    lines = told(Diagnosis(verdict="unknown_fault", root_cause=cause, remedy=advice))
    assert lines[0].endswith("this log does not say why")
    assert [line for line in lines if line.startswith("next")] == [
        "next         The line that says why is elsewhere:"
    ]
    assert "             grep x *.log" in lines


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (("flag", "--enforce-eager", "true"), "remedy --enforce-eager ("),
        (("flag", "--kv-cache-dtype", "fp8"), "remedy --kv-cache-dtype=fp8 ("),
        (("env", "X", "true"), "remedy X=true ("),
        (("redownload", "*", None), "remedy download again whatever is damaged ("),
        (("cleanup", "gpu_memory_wait", None), "remedy wait until the memory of the GPUs is free ("),
        (("install", "ninja", None), "remedy install ninja ("),
    ],
)
def test_a_remedy_is_told_as_it_is_done(action: tuple[str, str, str | None], words: str) -> None:
    assert remedied(*action).startswith(words)


def test_a_diagnosis_is_that_of_another_host_but_for_lines_and_numbers() -> None:
    def of(text: str, line: int) -> Diagnosis:
        return Diagnosis(
            verdict="unknown_fault", root_cause=CAUSE.model_copy(update={"text": text, "line": line})
        )

    assert same(of("OSError: pid 812 is gone", 7)) == same(of("OSError: pid 99 is gone", 80))
    assert same(of("OSError: pid 812 is gone", 7)) != same(of("OSError: port 812 is taken", 7))
