"""A log in any carrier gives the answer of the bare log."""

from __future__ import annotations

import hashlib
from functools import cache

import pytest

from orchestrator.diagnosis import lines, origin
from orchestrator.diagnosis.carriers import peel
from orchestrator.diagnosis.carriers.peeled import Peeled
from orchestrator.diagnosis.carriers.peeled import bare as bare_of
from orchestrator.diagnosis.engine import diagnose_log
from orchestrator.diagnosis.verdict import Diagnosis
from orchestrator.engines import registry
from orchestrator.engines.sglang.log.grammar import GRAMMAR as SGLANG
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from tests.diagnosis.carriers.forms import FORMS
from tests.diagnosis.labels import CASES, Case, expected, grammar_of, known_of, log
from tests.diagnosis.test_cases import PATCHES
from tests.of_each import of_each

BOTH = (GRAMMAR, SGLANG)
EACH = {"vllm": 1, "sglang": 1}
"""Cases of an engine that are tried in each form; as `thorough`, every twelfth in all of them."""


def judged(case: Case, raw: bytes, layers: peel.Wrapping) -> Diagnosis:
    peeled = Peeled(layers)
    known = known_of(expected(case))
    found = diagnose_log(
        peeled.whole([raw]),
        grammar=origin.of(bare_of(raw[: 256 << 10], layers), BOTH),
        known=known,
        patches=PATCHES,
    )
    return found.renumbered(peeled.line_of)


def said(found: Diagnosis) -> tuple[object, ...]:
    """Verdict, finding, remedy, the cause and the line that is quoted; white space does not count."""
    cause = " ".join(found.root_cause.text.split()) if found.root_cause else None
    quoted = [" ".join(each.text.split()) for each in found.evidence[:1]]
    return found.verdict, found.finding, found.remedy and found.remedy.model_dump(), cause, quoted


@cache
def bare(case: Case) -> tuple[object, ...]:
    return said(judged(case, log(case), peel.Wrapping()))


def carried(case: Case, form: str) -> bytes:
    lines = log(case).decode("utf-8", "replace").removesuffix("\n").split("\n")
    return "".join(f"{text}\n" for text in FORMS[form](lines)).encode()


def read(case: Case, raw: bytes) -> tuple[object, ...]:
    return said(judged(case, raw, peel.learn(raw[: 256 << 10], BOTH)))


LOST = {"folded at 80": 0.15}
"""Where blanks are lost and words begin lines, more is: a share of the cases."""


@cache
def speaks(case: Case) -> bool:
    """Whether it has records of the engine's."""
    headed = (line.level is not None for line in lines.read(log(case).splitlines()[:400], grammar_of(case)))
    return sum(headed) >= 3


NAMED = {
    kind: [(case.id, case) for case in CASES if expected(case)["engine"] == kind] for kind in registry.kinds()
}


def drawn(form: str, each: int, kind: str) -> Case:
    """One of the cases that have records of that engine's, which stays the same as others are added."""
    begun = hashlib.sha256(f"{form} {each} ".encode())
    hashed = []
    for name, case in NAMED[kind]:
        whole = begun.copy()
        whole.update(name.encode())
        hashed.append((whole.digest(), case))
    return next(case for _, case in sorted(hashed) if speaks(case))


SAMPLE = [
    (form, drawn(form, each, kind))
    for form in FORMS
    if form not in LOST
    for kind, count in EACH.items()
    for each in range(count)
]


@pytest.mark.parametrize(("form", "case"), SAMPLE, ids=[f"{form}-{case.id}" for form, case in SAMPLE])
def test_a_carried_log_gives_the_answer_of_the_bare_one(form: str, case: Case) -> None:
    assert read(case, carried(case, form)) == bare(case)


@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
def test_so_it_does_for_almost_every_case(form: str) -> None:
    """A file of few lines may hold nothing that shows its carrier."""
    cases = CASES[::12]
    other = [case.id for case in cases if read(case, carried(case, form)) != bare(case)]
    assert len(other) <= LOST.get(form, 0.05) * len(cases), other


CARRIED = {"stopped-by-time-limit/slurm-while-shards-are-read"}
"""Through srun -l."""
BARE = [
    case for case in CASES if hashlib.sha256(case.id.encode()).digest()[0] % 9 == 0 and case.id not in CARRIED
]


@of_each(BARE, lambda case: case.id)
def test_a_bare_log_has_no_carrier(case: Case) -> None:
    assert peel.learn(log(case)[: 256 << 10], BOTH) == peel.Wrapping()


def test_there_are_forms_enough() -> None:
    assert len(FORMS) >= 40
