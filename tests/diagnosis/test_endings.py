"""A log that says of itself that the launch is over is never one of a launch that starts."""

from __future__ import annotations

import pytest

from orchestrator.diagnosis.engine import diagnose_log
from orchestrator.diagnosis.verdict import Diagnosis
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.patches.known import Known
from tests.diagnosis.test_cases import PATCHES

STARTS = (
    "(APIServer pid=7) INFO 02-20 21:34:40 [api_server.py:1] vLLM API server version 0.16.0",
    "(EngineCore pid=9) INFO 02-20 21:36:49 [core.py:1] Starting to load model x",
)
GOES_ON = "(EngineCore pid=9) INFO 02-20 21:37:49 [core.py:1] Loading weights took 31 seconds"


def said(*lines: str) -> Diagnosis:
    text = "".join(f"{line}\n" for line in lines).encode()
    return diagnose_log([text], grammar=GRAMMAR, known=Known(), patches=PATCHES)


ENDS = [
    "Terminated",
    "Hangup",
    "[1]+  Killed                  vllm serve x",
    "[1]-  Exit 1                  nohup vllm serve x",
    "run.sh: line 3:  4711 Terminated              vllm serve x",
    "zsh: killed     vllm serve x",
    "llm-1 exited with code 143",
    "llm exited with code 0",
    "[entrypoint] vllm died (rc=1)",
    "[supervisor] child 4711 exit=1",
    "Process vllm exited: 1",
    "Server process terminated with status 1",
    "PM2        | App [vllm:0] exited with code [1] via signal [SIGINT]",
    "##[error]Bash exited with code '1'.",
    "vLLM process exited early!",
    "ERROR: server did not become ready within 600s",
    "Timed out waiting for http://localhost:8000/health",
    "Server failed to start. Check logs.",
    "vllm.service: State 'stop-sigterm' timed out. Killing.",
    "vllm.service: Start request repeated too quickly.",
    "Failed to start vllm.service - vLLM server.",
    "2026-02-20 21:37:01,204 INFO gave up: vllm entered FATAL state, too many start retries too quickly",
    "Essential container in task exited",
    "Build step 'Execute shell' marked build as failure",
    "Finished: FAILURE",
    "make[1]: *** [Makefile:12: serve] Error 1",
    "slurmstepd-gpu07: error: *** STEP 4711.0 ON gpu07 CANCELLED AT 2026-02-20T21:37:01 ***",
    "mpirun detected that one or more processes exited with non-zero status, thus causing",
    "2026-02-20 21:37:01 [entrypoint] vllm exited, code 1",
    "systemd[1]: vllm.service: start operation timed out. Terminating.",
    "command terminated with exit code 1",
    "Error: Process completed with exit code 1.",
    "ERROR: Job failed: exit code 1",
    "Command terminated by signal 15",
    "Process finished with exit code 139 (interrupted by signal 11: SIGSEGV)",
    "vllm.service: Main process exited, code=exited, status=1/FAILURE",
    "vllm.service: Failed with result 'exit-code'.",
    "2026-02-20 21:37:01,204 INFO exited: vllm (exit status 1; not expected)",
    "srun: error: gpu07: task 0: Exited with exit code 1",
    "slurmstepd: error: *** JOB 4711 ON gpu07 CANCELLED AT 2026-02-20T21:37:01 DUE TO TIME LIMIT ***",
    "mpirun noticed that process rank 0 with PID 0 on node gpu07 exited on signal 9 (Killed).",
    "make: *** [Makefile:12: serve] Error 1",
    "Warning  BackOff  2m  kubelet  Back-off restarting failed container vllm in pod vllm-0",
    "Normal  Killing  3m  kubelet  Container vllm failed startup probe, Startup probe failed: HTTP 503",
    "failed (exitcode: 1) local_rank: 3 (pid: 4711) of binary: /usr/bin/python3",
    "[rank0]:[W220 21:37:01.1 ProcessGroupNCCL.cpp:1496] Warning: destroy_process_group() was not called before program exit",
    "/usr/lib/python3.12/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 1 leaked",
    "(EngineCore pid=9) INFO 02-20 21:37:01 [core.py:1201] EngineCore exiting.",
    "(APIServer pid=7) INFO 02-20 21:37:01 [utils.py:628] [shutdown] Process manager: send sigterm to process EngineCore",
    "                   [--log-level {DEBUG,INFO}]",
    "INFO:     Finished server process [7]",
    "^C",
    "ops@gpu07:~$",
    "(vllm) ops@gpu07:~/run$ nvidia-smi",
    "[root@gpu07 run]# echo $?",
    "root@4f1c:/workspace#",
]  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
def test_an_end_is_a_failure(end: str) -> None:
    found = said(*STARTS, end)
    assert found.verdict in ("fault", "unknown_fault")
    root = found.root_cause
    assert root is not None and root.line == len(STARTS) + 1
    assert said(*STARTS, end, "", "").verdict == found.verdict
    assert said(*STARTS, end, GOES_ON).verdict == "starting"


@pytest.mark.parametrize(
    "lines",
    [
        ("$ docker logs llm", *STARTS, "ops@gpu07:~$"),
        ("ops@gpu07:~$ kubectl logs vllm-0", *STARTS, "ops@gpu07:~$ "),
        ("ops@gpu07:~$ tail -f vllm.log", *STARTS, "^C"),
        ("ops@gpu07:~$ nohup vllm serve x &", *STARTS, "ops@gpu07:~$"),
        (*STARTS, "ops@gpu07:~$ vllm serve x"),
        (*STARTS, "$ vllm serve x"),
    ],
)
def test_a_prompt_behind_what_only_shows_a_log_or_starts_a_launch_says_nothing(
    lines: tuple[str, ...],
) -> None:
    assert said(*lines).verdict == "starting"


def test_what_a_search_for_errors_leaves_is_no_start() -> None:
    error = "(EngineCore pid=9) ERROR 02-20 21:37:01 [core.py:7] the tape is torn"
    found = said(error, "(APIServer pid=7) WARNING 02-20 21:37:02 [x.py:1] odd")
    assert found.verdict == "unknown_fault"
    assert found.root_cause is not None and found.root_cause.text == "the tape is torn"
    assert said(*STARTS, error).verdict == "starting"


def test_once_there_are_clients_they_may_have_printed_it() -> None:
    up = "(APIServer pid=7) INFO:     Application startup complete."
    assert said(*STARTS, up, "Killed", "llm-1 exited with code 137", "ops@gpu07:~$").verdict == "healthy"


@pytest.mark.parametrize(
    "line",
    [
        "2026-07-25 14:36:08.362 [Error] (WrappedServer) vllm-server failed to start within timeout",
        'time="2026-07-25T14:36:08Z" level=error msg="backend vllm did not become ready"',
        "2026-07-25T14:36:08Z ERROR runner: instance vllm-qwen exited unexpectedly",
    ],
)
def test_a_launcher_that_says_of_an_engine_without_a_word_that_it_is_not_there_tells_a_failure(
    line: str,
) -> None:
    found = said("2026-07-25 14:36:08.360 [Info] (Server) Starting vllm-server on port 8001", line)
    assert found.verdict == "unknown_fault"
    assert found.root_cause is not None
    assert found.root_cause.line == 2
    assert found.remedy is not None
    assert "engine's own" in found.remedy.advice[0]
    assert said(*STARTS, line).remedy is None  # an engine that speaks says itself how it fared


@pytest.mark.parametrize(
    "line",
    [
        "download finished: 119",
        "step download rc=0",
        "warm-up finished with 16 prompts",
        "request finished status 200",
        "the engine stopped waiting: 3",
    ],
)
def test_a_number_alone_is_no_end(line: str) -> None:
    assert said(*STARTS, line).verdict == "starting"
