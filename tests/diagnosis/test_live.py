"""What is known of a failing launch while its log is still being written."""

from __future__ import annotations

import pytest

from orchestrator.diagnosis.engine import Diagnosis, diagnose
from orchestrator.diagnosis.following import Following
from orchestrator.diagnosis.launches import LaunchLog
from orchestrator.diagnosis.lines import read
from orchestrator.diagnosis.live import Live
from orchestrator.diagnosis.root import root_of
from orchestrator.engines.log_grammar import LogGrammar
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches.known import Known
from tests.diagnosis.labels import CASES as ALL
from tests.diagnosis.labels import Case, expected, grammar_of, known_of, log, named
from tests.diagnosis.test_cases import PATCHES

NEVER_STARTS = ("vllm-not-installed", "python-too-old")
CASES = [*ALL[3::40], *(case for case in ALL if case.folder.name in NEVER_STARTS)]
"""A few of each kind, and all in which a word or two are said before the end: each is judged after every line."""
RECOGNISED = [case for case in CASES if expected(case)["patch"] and expected(case)["verdict"] == "fault"]
NOWHERE = Known()


def lines_of(case: Case) -> list[bytes]:
    return log(case).split(b"\n")


def being_written(lines: list[bytes], grammar: LogGrammar) -> LaunchLog:
    following = Following(grammar)
    for line in read(lines, grammar):
        following.feed(line)
    return following.so_far()


def known_of_case(case: Case) -> Known:
    return known_of(expected(case))


def followed(
    lines: list[bytes], known: Known, grammar: LogGrammar = GRAMMAR
) -> tuple[Live, list[tuple[int, Diagnosis]]]:
    """The findings, each with the number of the line after which it was given."""
    live, found = Live(known, PATCHES, grammar), []
    for number, raw in enumerate(lines, 1):
        live.feed(raw + b"\n")
        if diagnosis := live.look():
            found.append((number, diagnosis))
    return live, found


@pytest.mark.parametrize("case", RECOGNISED, ids=lambda case: case.id)
def test_the_finding_is_given_at_the_first_line_that_shows_it(case: Case) -> None:
    lines, known, grammar = lines_of(case), known_of_case(case), grammar_of(case)
    _, found = followed(lines, known, grammar)
    final = diagnose(lines, grammar=grammar, known=known, patches=PATCHES)
    assert final.finding is not None
    launch = being_written(lines, grammar)
    if root_of(launch) is None and not launch.startup.up_line:
        assert not found  # what is said by a line alone may be survived, until the process is gone
        return
    number, early = found[-1]
    assert early.finding is not None and early.finding.patch == final.finding.patch
    shorter = diagnose(lines[: number - 1], grammar=grammar, known=known, patches=PATCHES)
    given_before = [one.finding.patch for _, one in found[:-1] if one.finding]
    failed = root_of(being_written(lines[: number - 1], grammar)) is not None
    told = shorter.finding.patch if shorter.finding and failed else None
    assert told is None or told in given_before


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_only_a_failed_launch_is_doomed(case: Case) -> None:
    lines, known, grammar = lines_of(case), known_of_case(case), grammar_of(case)
    live, _ = followed(lines, known, grammar)
    if live.doomed:
        assert diagnose(lines, grammar=grammar, known=known, patches=PATCHES).verdict == "fault"


def test_it_is_given_once() -> None:
    _, found = followed(lines_of(named("mla-fp8kv-kimi-k25-tp8")), NOWHERE)
    assert [one.finding.patch for _, one in found if one.finding] == ["fp8-kv-mla"]


def failing(where: str = "WorkerProc failed to start.") -> list[bytes]:
    head = "(Worker_TP4 pid=74) ERROR 02-20 21:35:07 [multiproc_executor.py:783] "
    refusal = (
        "ValueError: Selected backend AttentionBackendEnum.TRITON_MLA is not valid for this configuration. "
        "Reason: ['kv_cache_dtype not supported']"
    )
    texts = [
        where,
        "Traceback (most recent call last):",
        '  File "/a/b.py", line 3, in f',
        "    g()",
        refusal,
    ]
    engine = (
        "(EngineCore_DP0 pid=7) INFO 02-20 21:35:01 [core.py:97] Initializing a V1 LLM engine (v0.16.0) with config: "
        "model='/m', use_mla=True, kv_cache_dtype=fp8_e4m3"
    )
    return [line.encode() for line in (engine, *(head + text for text in texts))]


WENT_ON = b"(Worker_TP0 pid=70) INFO 02-20 21:35:09 [default_loader.py:293] Loading weights took 3.21 seconds"


def test_an_exception_that_nothing_follows_is_read_all_the_same() -> None:
    lines = failing()
    live, found = followed(lines, Known(compute_cap="12.0"))
    assert [number for number, _ in found] == [len(lines)]
    assert live.doomed


def test_a_launch_that_goes_on_is_not_doomed() -> None:
    live, _ = followed([*failing(), WENT_ON], Known(compute_cap="12.0"))
    assert not live.doomed


def test_an_exception_that_ends_no_process_dooms_nothing() -> None:
    live, found = followed(failing("Could not use it, trying another."), Known(compute_cap="12.0"))
    assert found
    assert not live.doomed


def test_another_launch_in_the_same_log_begins_anew() -> None:
    start = (
        b"(APIServer pid=900) INFO 02-20 21:40:01 [api_server.py:1] vLLM API server version 0.16.0",
        b"(APIServer pid=900) INFO 02-20 21:40:01 [utils.py:294] non-default args: {'model': '/m'}",
    )
    live, _ = followed([*failing(), *start], Known(compute_cap="12.0"))
    assert not live.doomed


def test_a_server_has_served_once_it_was_up_in_any_launch_of_the_log() -> None:
    live = Live(NOWHERE, PATCHES, GRAMMAR)
    live.feed(WENT_ON + b"\n")
    assert live.served is False
    live.feed(b"INFO:     Application startup complete.\n" + WENT_ON + b"\n" * 30)
    assert live.served is True
    live.feed(WENT_ON + b"\n")
    assert live.served is True


def test_the_diagnosis_so_far_counts_how_long_the_log_has_been_silent() -> None:
    live = Live(NOWHERE, PATCHES, GRAMMAR)
    live.feed(WENT_ON + b"\n")
    assert [live.now(seconds).verdict for seconds in (1.0, 40_000.0)] == ["starting", "hang"]
    live.feed(b"".join(line + b"\n" for line in failing()))
    diagnosis = live.now(1.0)
    assert diagnosis.finding is not None and diagnosis.finding.patch


def test_asking_again_and_again_makes_no_heartbeat_of_a_line() -> None:
    """What is said once, an hour after the line before it, shows that something went on."""
    live = Live(NOWHERE, PATCHES, GRAMMAR)
    for hour in range(4):
        live.feed(b"(Worker_TP0 pid=70) INFO 02-20 0%d:36:09 [x.py:1] Said once: %s\n" % (hour, b"x" * hour))
    assert {live.now(1.0).verdict for _ in range(8)} == {"starting"}
