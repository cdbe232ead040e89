"""The verdict on a whole log."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.base.data_folders import shipped
from orchestrator.diagnosis.engine import diagnose
from orchestrator.diagnosis.verdict import Diagnosis
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches import catalogue
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from tests.diagnosis import labels

PATCHES = catalogue.load([shipped("patches")])
REFUSED = (
    "No valid attention backend found for cuda with AttentionSelectorConfig(head_size=576, dtype=torch.bfloat16,"
    " kv_cache_dtype=fp8_e4m3, block_size=None, use_mla=True, has_sink=False, use_sparse=False)."
    " Reasons: {FLASHMLA: [compute capability not supported], TRITON_MLA: [kv_cache_dtype not supported]}."
)
API = "(APIServer pid={pid}) INFO 02-20 21:35:07 [utils.py:1] {text}"
WRAPPED = "RuntimeError: Worker failed with error '{}', please check the stack trace above for the root cause"


def log(name: str) -> list[bytes]:
    return labels.log(labels.named(name)).split(b"\n")


def said(lines: list[bytes] | list[str], known: Known | None = None) -> Diagnosis:
    raw = [line.encode() if isinstance(line, str) else line for line in lines]
    return diagnose(raw, grammar=GRAMMAR, known=known or Known(), patches=PATCHES)


def traceback(text: str, process: str = "(Worker_TP1 pid=4) ") -> list[str]:
    head = f"{process}ERROR 02-20 21:35:07 [m.py:3] "
    return [
        head + line
        for line in (
            "WorkerProc failed to start.",
            "Traceback (most recent call last):",
            '  File "/a.py", line 1, in f',
            text,
        )
    ]


def kinds(found: Diagnosis) -> list[tuple[str, str | None]]:
    assert found.remedy is not None
    return [(action.kind, action.path or action.name) for action in found.remedy.actions]


def test_the_contract() -> None:
    found = said(log("mla-fp8kv-kimi-k25-tp8")).model_dump(mode="json")
    assert list(found) == ["verdict", "root_cause", "finding", "remedy", "evidence", "folded", "engine"]
    assert found["verdict"] == "fault"
    assert found["root_cause"]["text"].startswith(
        "ValueError: No valid attention backend found for cuda with Attention"
    )
    assert found["root_cause"] | {"text": ""} == {
        "text": "",
        "line": 98,
        "process": "Worker_TP4",
        "exception": "ValueError",
    }
    assert found["finding"]["patch"] == "fp8-kv-mla"
    assert found["finding"]["confidence"] == "certain"
    assert found["remedy"] == {
        "automatic": True,
        "actions": [
            {"kind": "config", "file": "config.json", "path": "/quantization_config/kv_cache_scheme", "op": "remove"},
            {
                "kind": "config", "file": "hf_quant_config.json", "path": "/quantization/kv_cache_quant_algo",
                "op": "set", "value": None,
            },
        ],
        "advice": [],
    }  # fmt: skip
    assert found["evidence"][0] == {"line": 98, "text": found["root_cause"]["text"][:600]}
    assert {"line": 14, "text": "kv_cache_dtype=fp8_e4m3"} in found["evidence"]
    assert sorted(found["folded"]["processes"]) == [f"Worker_TP{rank}" for rank in (0, 1, 2, 3, 5, 6, 7)]
    assert found["folded"]["lines"] > 100


def test_an_empty_log_is_a_launch_that_is_starting() -> None:
    assert said([]).model_dump(mode="json") == {
        "verdict": "starting", "root_cause": None, "finding": None, "remedy": None, "evidence": [],
        "folded": {"processes": [], "lines": 0}, "engine": {"kind": "vllm", "version": None},
    }  # fmt: skip


def test_the_flag_of_the_callers_command_line_is_dropped() -> None:
    lines = traceback(f"ValueError: {REFUSED}")
    arguments = {"kv_cache_dtype": "fp8"}
    assert kinds(said(lines, Known(arguments=arguments))) == [("flag", "--kv-cache-dtype")]
    assert [kind for kind, _ in kinds(said(lines))] == ["config", "config"]


def test_the_log_wins_over_the_callers_command_line() -> None:
    lines = [
        API.format(pid=1, text="non-default args: {'kv_cache_dtype': 'auto'}"),
        *traceback(f"ValueError: {REFUSED}"),
    ]
    arguments = {"kv_cache_dtype": "fp8"}
    assert [kind for kind, _ in kinds(said(lines, Known(arguments=arguments)))] == ["config", "config"]


def test_only_the_wrapper_that_quotes_a_worker_is_left() -> None:
    found = said(traceback(WRAPPED.format(REFUSED), "(EngineCore pid=3) "))
    assert found.verdict == "fault"
    assert found.root_cause is not None and found.root_cause.text == REFUSED
    assert found.finding is not None and found.finding.confidence == "likely"


def test_only_a_wrapper_that_quotes_something_unknown_is_left() -> None:
    found = said(traceback(WRAPPED.format("whatever"), "(EngineCore pid=3) "))
    assert found.verdict == "unknown_fault"
    assert found.root_cause is not None and found.root_cause.text == WRAPPED.format("whatever")
    assert found.finding is found.remedy is None


def test_the_first_process_that_failed_counts() -> None:
    lines = traceback("app.First: one", "(Worker_TP1 pid=4) ") + traceback(
        "app.Second: two", "(Worker_TP0 pid=3) "
    )
    found = said(lines)
    assert found.root_cause is not None
    assert (found.root_cause.text, found.root_cause.process) == ("app.First: one", "Worker_TP1")


@pytest.mark.parametrize(
    "again", [API.format(pid=2, text="vLLM API server version 0.16.0"), "+ vllm serve m"]
)
def test_only_the_last_launch_counts(again: str) -> None:
    first = [API.format(pid=1, text="vLLM API server version 0.16.0"), *traceback(f"ValueError: {REFUSED}")]
    assert said(first).verdict == "fault"
    assert said([*first, again]).verdict == "starting"
    found = said([*first, again, *traceback("app.Other: two")])
    assert found.verdict == "unknown_fault"
    assert found.root_cause is not None and found.root_cause.text == "app.Other: two"


def test_a_program_that_ends_twice_was_started_twice() -> None:
    ends = ["Traceback (most recent call last):", '  File "/usr/bin/vllm", line 10, in <module>']
    found = said([*ends, "ValueError: first", *ends, "ImportError: second"])
    assert found.root_cause is not None and found.root_cause.text == "ImportError: second"


def test_an_exception_after_which_the_launch_went_on_is_no_fault() -> None:
    caught = [
        line.replace("WorkerProc failed to start.", "Could not do this")
        for line in traceback("app.Caught: x")
    ]
    assert said(caught).verdict == "unknown_fault"
    assert said([*caught, "INFO 02-20 21:35:09 [a.py:1] GPU KV cache size: 5 tokens"]).verdict == "starting"
    assert said([*caught, "INFO:     Application startup complete."]).verdict == "healthy"


def test_a_refused_request_is_no_fault_and_a_dead_engine_is() -> None:
    up = "INFO:     Application startup complete."
    request = traceback("jinja2.TemplateError: x", "(APIServer pid=1) ")[1:]
    died = "(EngineCore pid=3) ERROR 02-20 21:35:09 [core.py:9] EngineCore encountered a fatal error."
    death = [died, *traceback("app.Deadly: y", "(EngineCore pid=3) ")[1:]]
    assert said([up, *request]).verdict == "healthy"
    dead = [line.replace("[m.py:3]", "[core.py:9]") for line in death]
    found = said([up, *request, *dead])
    assert found.verdict == "unknown_fault"
    assert found.root_cause is not None and found.root_cause.text == "app.Deadly: y"


def test_what_a_server_throws_after_it_was_told_to_stop_is_no_fault() -> None:
    lines = [
        "INFO:     Application startup complete.",
        "(EngineCore pid=3) INFO 02-20 21:35:09 [core.py:1] [shutdown] EngineCore: trigger received signal=SIGTERM",
        *traceback("vllm.EngineDeadError: EngineCore encountered an issue.", "(APIServer pid=1) "),
    ]
    assert said(lines).verdict == "healthy"
    assert said(lines[1:2]).verdict == "unknown_fault"


@pytest.mark.parametrize(("idle", "verdict"), [(None, "starting"), (599.0, "starting"), (601.0, "hang")])
def test_silence(idle: float | None, verdict: str) -> None:
    lines = [API.format(pid=1, text="vLLM API server version 0.16.0")]
    assert said(lines, Known(idle_seconds=idle)).verdict == verdict


def test_weights_and_kernels_may_take_longer() -> None:
    shards = "Loading safetensors checkpoint shards:  12% Completed | 8/64 [00:10<01:10,  1.26s/it]"
    assert said([shards], Known(idle_seconds=800)).verdict == "starting"
    assert said([shards], Known(idle_seconds=1000)).verdict == "hang"


@given(st.lists(st.binary(max_size=120)))
def test_any_bytes_have_a_verdict(lines: list[bytes]) -> None:
    assert said(lines).verdict in ("starting", "unknown_fault", "fault", "healthy")


@settings(deadline=None)
@given(st.integers(0, 49_000), st.integers(0, 49_000))
def test_a_piece_of_a_log_never_gets_another_remedy(start: int, end: int) -> None:
    piece = b"\n".join(log("mla-fp8kv-kimi-k25-tp8"))[start:end].split(b"\n")
    found = said(piece)
    assert (
        found.finding is None
        or found.finding.patch == "fp8-kv-mla"
        or not (found.remedy and found.remedy.actions)
    )


VERSION = "(APIServer pid=5) INFO 02-20 21:34:40 [api_server.py:1] vLLM API server version 0.16.0"
UP = "(APIServer pid=5) INFO:     Application startup complete."


def request_failing(text: str, level: str = "ERROR") -> list[str]:
    """A traceback that a rank logs while the server goes on."""
    return [line.replace("ERROR", level) for line in traceback(text)[1:]]


def of_a_request(during: str) -> Patch:
    match = [{"exception": "LedgerTornError", "during": during}]
    return Patch.model_validate({"id": "mine", "title": "It refuses", "category": "other", "match": match})


def served(lines: list[str], *patches: Patch) -> tuple[str, str | None]:
    raw = [line.encode() for line in lines]
    found = diagnose(raw, grammar=GRAMMAR, known=Known(), patches=patches)
    return found.verdict, found.finding.patch if found.finding else None


def test_a_server_that_answers_and_can_complete_nothing_is_known_by_a_patch_of_requests_alone() -> None:
    torn = request_failing("LedgerTornError: page 4")
    patch = of_a_request("request")
    assert served([VERSION, UP, *torn], patch) == ("fault", "mine")
    assert served([VERSION, UP, *torn], of_a_request("start")) == ("healthy", None)
    assert served([VERSION, UP, *torn]) == ("healthy", None)
    assert served([VERSION, *torn, UP], patch) == ("healthy", None)
    assert served([VERSION, UP, *request_failing("OtherError: x")], patch) == ("healthy", None)
    assert served([VERSION, UP, *request_failing("LedgerTornError: x", "WARNING")], patch) == (
        "healthy",
        None,
    )


def test_how_far_a_launch_came_is_its_evidence() -> None:
    loading = "(Worker_TP0 pid=70) INFO 02-20 21:35:09 [a.py:1] Loading weights took 3.21 seconds"
    for lines, evidence in (([VERSION, loading], (2, "profiling")), ([VERSION, loading, UP], (3, "up"))):
        (milestone,) = said([*lines]).evidence
        assert (milestone.line, milestone.text) == evidence


def test_repetition_and_consequence_are_counted_and_not_told() -> None:
    wrapper = "RuntimeError: Engine core initialization failed. See root cause above."
    ranks = [
        line
        for rank in range(3)
        for line in traceback("LedgerTornError: page 4", f"(Worker_TP{rank} pid={rank + 4}) ")
    ]
    found = said([VERSION, *ranks, *traceback(wrapper, "(EngineCore_DP0 pid=9) ")])
    assert found.root_cause is not None and found.root_cause.process == "Worker_TP0"
    # three lines each of two more ranks, and of the one who only says that others failed
    assert (found.folded.processes, found.folded.lines) == (("Worker_TP1", "Worker_TP2"), 9)
