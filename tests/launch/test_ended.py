"""Who ended a launch, by its log and by what the host knows: told as fact only where somebody saw it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.diagnosis.engine import Diagnosis, diagnose
from orchestrator.engines.vllm.log.grammar import GRAMMAR
from orchestrator.launch.ended import LIMIT_REACHED, OUT_OF_MEMORY, judge, named, of_its_own, open_to_doubt
from orchestrator.launch.unsaid import ended_without_a_word
from orchestrator.patches import catalogue
from orchestrator.patches.known import Known
from orchestrator.programs.ended import End, Kill, Kills, Reported

PATCHES = catalogue.load([shipped("patches")])
HEAD = b"(APIServer pid=800) INFO 02-20 21:34:40 [utils.py:294] non-default args: {'model': 'm'}"
WORKER = b"(Worker_TP0 pid=812) INFO 02-20 21:34:50 [default_loader.py:1] Loading weights"
WRAPPER = (
    b"(EngineCore_DP0 pid=801) ERROR 02-20 21:35:07 [core.py:1006] Traceback (most recent call last):",
    b'(EngineCore_DP0 pid=801) ERROR 02-20 21:35:07 [core.py:1006]   File "/x/core.py", line 1, in run_engine_core',
    b"(EngineCore_DP0 pid=801) ERROR 02-20 21:35:07 [core.py:1006]     raise e",
    b"(EngineCore_DP0 pid=801) ERROR 02-20 21:35:07 [core.py:1006] Exception: WorkerProc initialization failed due to an "
    b"exception in a background process. See stack trace for root cause.",
)
LEDGER = (
    b"(Worker_TP0 pid=812) ERROR 02-20 21:35:07 [multiproc_executor.py:783] WorkerProc failed to start.",
    b"(Worker_TP0 pid=812) ERROR 02-20 21:35:07 [multiproc_executor.py:783] Traceback (most recent call last):",
    b'(Worker_TP0 pid=812) ERROR 02-20 21:35:07 [multiproc_executor.py:783]   File "/x/a.py", line 1, in f',
    b"(Worker_TP0 pid=812) ERROR 02-20 21:35:07 [multiproc_executor.py:783]     raise",
    b"(Worker_TP0 pid=812) ERROR 02-20 21:35:07 [multiproc_executor.py:783] LedgerTornError: page 4 is torn",
)
DIED = (
    b"(APIServer pid=800) ERROR 02-20 21:35:07 [x.py:1] RuntimeError: Engine process died (exit code: -9)",
)
OURS = Kill(pid=812, name="VLLM::Worker_TP", text="Out of memory: Killed process 812 (VLLM::Worker_TP)")
OTHER = Kill(pid=4711, name="postgres", text="Out of memory: Killed process 4711 (postgres)")


def told(*more: bytes) -> Diagnosis:
    return diagnose([HEAD, WORKER, *more], grammar=GRAMMAR, known=Known(), patches=PATCHES)


@dataclass(frozen=True)
class Case:
    log: tuple[bytes, ...]
    ended: End
    confidence: str | None
    """Of "the host's memory ran out"; None where that is not the finding."""
    words: str
    from_outside: bool = False


def end(*, group: int | None = 0, machine: int | None = 0, **known: Any) -> End:
    kills = Kills(group=group, machine=machine)
    return End(**{"exit_code": 137, "oom_kills": kills, "kernel": (), **known})


CASES = {
    "the kernel names a process of ours": Case(
        WRAPPER, end(exit_code=1, kernel=(OTHER, OURS)), "certain", "process 812"
    ),
    "the group counts one, behind a wrapper": Case(
        WRAPPER, end(exit_code=1, group=1), "certain", "1 process of the launch's"
    ),
    "the group counts two, after SIGKILL": Case((), end(group=2, kernel=None), "certain", "2 processes"),
    "only the machine counts": Case(
        (), end(machine=1, kernel=None, group=None), "likely", "likely by the kernel", True
    ),
    "the kernel names others alone": Case(
        (), end(machine=1, kernel=(OTHER,)), "likely", "1 process of this machine", True
    ),
    "the kernel's log shows none": Case(
        (), end(group=None, machine=None), None, "nobody knows by whom: the kernel's log shows", True
    ),
    "the kernel counts none": Case(
        (), end(kernel=None), None, "nobody knows by whom: the kernel counts no", True
    ),
    "nothing can be read": Case(
        (),
        End(exit_code=137),
        None,
        "ended by SIGKILL; nobody knows by whom: the kernel's log cannot be read",
        True,
    ),
    "a cause in the log stands, whatever was killed": Case(
        LEDGER, end(exit_code=1, group=1, machine=1), None, ""
    ),
    "a cause in the log stands though KILL ended it": Case(LEDGER, end(kernel=None), None, ""),
    "an exit by itself": Case(WRAPPER, end(exit_code=1), None, ""),
    "the machine counts, and it left by itself": Case(
        WRAPPER, end(exit_code=1, machine=3, kernel=None), None, ""
    ),
    "another boot": Case((), End(rebooted=True), None, "started anew"),
    "code -9 in the log, which the kernel confirms": Case(
        DIED, end(exit_code=1, group=1), "certain", "1 process of"
    ),
    "code -9 in the log alone is a guess": Case(DIED, end(exit_code=1), None, "nobody knows by whom", True),
}


@pytest.mark.parametrize("name", CASES)
def test_who_ended_it(name: str) -> None:
    case = CASES[name]
    diagnosis = told(*case.log)
    judged = judge(diagnosis, case.ended, named([HEAD, WORKER], GRAMMAR.processes), PATCHES)
    finding = judged.diagnosis.finding
    known = finding.confidence if finding is not None and finding.patch == OUT_OF_MEMORY else None
    assert (known, judged.from_outside) == (case.confidence, case.from_outside), judged
    assert case.words in judged.known
    assert bool(case.words) == bool(judged.known)
    if known == "certain":  # what only says that something else failed is never the answer
        assert judged.diagnosis.root_cause is not None
        assert judged.diagnosis.root_cause.text == judged.known
        assert judged.diagnosis.remedy is not None and judged.diagnosis.remedy.advice
    if case.confidence is None:
        assert judged.diagnosis == diagnosis


@pytest.mark.parametrize(
    ("exit_code", "finding", "known"),
    [
        (137, "process-killed", "ended by SIGKILL; nobody knows by whom: the kernel's log shows no out-of-memory kill since it began"),
        (143, None, ""),  # by TERM, says the record: a person, or a service manager
        (None, "process-killed", "nobody knows by whom: the kernel's log shows no out-of-memory kill since it began"),
    ],
)  # fmt: skip
def test_the_word_of_a_shell_that_held_it_is_no_cause_where_its_end_is_on_record(
    exit_code: int | None, finding: str | None, known: str
) -> None:
    diagnosis = told(b"Killed")
    assert diagnosis.root_cause is not None and diagnosis.root_cause.text == "Killed"
    judged = judge(diagnosis, end(exit_code=exit_code), {}, PATCHES)
    assert (judged.diagnosis.root_cause is None) == (exit_code is not None)
    assert (judged.diagnosis.finding and judged.diagnosis.finding.patch) == finding
    assert judged.known == known


PEER_GONE = (
    b"(Worker_TP0 pid=812) ERROR 02-20 21:35:07 [multiproc_executor.py:783] WorkerProc failed to start.",
    b"(Worker_TP0 pid=812) ERROR 02-20 21:35:07 [multiproc_executor.py:783] Traceback (most recent call last):",
    b'(Worker_TP0 pid=812) ERROR 02-20 21:35:07 [multiproc_executor.py:783]   File "/x/a.py", line 1, in f',
    b"(Worker_TP0 pid=812) ERROR 02-20 21:35:07 [multiproc_executor.py:783] RuntimeError: [/x/gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.2]:1",
)
RANK = {800: "APIServer", 812: "Worker_TP0"}


@pytest.mark.parametrize(
    ("log", "ours", "who"),
    [
        (WRAPPER, RANK, "Worker_TP0 (pid 812)"),
        (WRAPPER, {800: "APIServer"}, "a process of the engine"),
        (WRAPPER, {**RANK, 813: "Worker_TP1"}, "a process of the engine"),
        (LEDGER, RANK, None),
        (PEER_GONE, RANK, None),
        (DIED, RANK, None),
        ((), RANK, None),
    ],
)
def test_who_ended_without_a_word(log: tuple[bytes, ...], ours: dict[int, str], who: str | None) -> None:
    assert ended_without_a_word(told(*log), ours, GRAMMAR) == who


@pytest.mark.parametrize(
    ("ended", "finding", "words", "from_outside"),
    [
        (end(exit_code=1), "process-killed", "killed, nobody knows by whom; the kernel's log shows no out-of-memory kill since it began", True),
        (end(exit_code=None, kernel=None, machine=None), "process-killed", "killed, or crashed, nobody knows by whom; the kernel's log cannot be read", False),
        (end(exit_code=1, machine=2, kernel=None), OUT_OF_MEMORY, "likely by the kernel, which killed 2 processes of this machine for want of memory since it began", False),
    ],
)  # fmt: skip
def test_who_ended_without_a_word_was_likely_killed(
    ended: End, finding: str, words: str, from_outside: bool
) -> None:
    judged = judge(told(*WRAPPER), ended, RANK, PATCHES, silent="Worker_TP0 (pid 812)")
    found, root = judged.diagnosis.finding, judged.diagnosis.root_cause
    assert found is not None and (found.patch, found.confidence) == (finding, "likely")
    assert (
        root is not None
        and root.text == judged.known == f"Worker_TP0 (pid 812) ended without a word: {words}"
    )
    assert judged.from_outside == from_outside


def test_what_a_rank_says_of_a_peer_that_is_gone_does_not_hide_whom_the_kernel_killed_here() -> None:
    lost = told(*PEER_GONE)
    assert lost.finding is not None and lost.finding.confidence == "certain" and open_to_doubt(lost)
    killed = judge(lost, end(exit_code=1, kernel=(OURS,)), RANK, PATCHES)
    assert killed.diagnosis.finding is not None and killed.diagnosis.finding.patch == OUT_OF_MEMORY
    assert judge(lost, end(exit_code=1), RANK, PATCHES).diagnosis == lost


def test_what_a_program_leaves_behind_does_not_hide_by_what_it_was_ended() -> None:
    left = told(
        b"/usr/lib/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 1 leaked"
    )
    assert left.root_cause is not None
    judged = judge(left, end(), RANK, PATCHES)
    assert (judged.diagnosis.root_cause, judged.from_outside) == (None, True)
    assert judged.known.startswith("ended by SIGKILL; nobody knows by whom")
    assert judge(left, end(exit_code=1), RANK, PATCHES).diagnosis == left


def test_only_headers_name_processes_of_ours() -> None:
    request = b"(APIServer pid=800) INFO 02-20 21:34:40 [logger.py:1] prompt: '(Worker_TP9 pid=4711) ERROR'\n"
    assert named([request, b"    (Worker_TP9 pid=4711) x\n"], GRAMMAR.processes) == {800: "APIServer"}


@pytest.mark.parametrize("exit_code", [1, 127, 134, 139])
def test_an_engine_that_ended_itself(exit_code: int) -> None:
    assert of_its_own(exit_code)


@pytest.mark.parametrize("exit_code", [None, 0, 129, 130, 137, 143])
def test_an_engine_that_somebody_ended(exit_code: int | None) -> None:
    assert not of_its_own(exit_code)


def test_a_finding_may_be_doubted_unless_it_is_certain() -> None:
    ledger = told(*LEDGER)
    assert ledger.finding is None
    assert open_to_doubt(ledger)
    likely = judge(told(), end(machine=1, kernel=None, group=None), {}, PATCHES).diagnosis
    certain = judge(told(), end(group=1), {}, PATCHES).diagnosis
    assert (open_to_doubt(likely), open_to_doubt(certain)) == (True, False)


def test_memory_that_ran_out_is_a_fault_which_a_person_mends() -> None:
    judged = judge(told(*WRAPPER), end(exit_code=1, group=1), {}, PATCHES).diagnosis
    before = told(*WRAPPER)
    assert before.root_cause is not None
    assert judged.root_cause is not None
    assert (judged.verdict, judged.root_cause.line, judged.root_cause.process) == (
        "fault",
        before.root_cause.line,
        None,
    )
    assert judged.remedy is not None
    assert (judged.remedy.automatic, judged.remedy.actions) == (False, ())
    named_one = judge(told(), end(kernel=(OTHER, OURS)), {812: "Worker_TP0"}, PATCHES)
    assert named_one.diagnosis.root_cause is not None
    assert named_one.diagnosis.root_cause.process == "Worker_TP0"
    assert named_one.known == "the kernel's log: Out of memory: Killed process 812 (VLLM::Worker_TP)"


def test_without_the_patch_for_it_the_verdict_stays_and_the_words_are_told() -> None:
    judged = judge(told(*WRAPPER), end(exit_code=1, group=2), {}, [])
    assert judged.diagnosis.finding is None
    assert judged.known == "the kernel killed 2 processes of the launch's control group for want of memory"


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (end(machine=3, kernel=None), "ended by SIGKILL; likely by the kernel, which killed 3 processes of this machine for want of memory since it began"),
        (end(kernel=(OTHER, OTHER)), "ended by SIGKILL; likely by the kernel, which killed 2 processes of this machine for want of memory since it began"),
        (end(kernel=()), "ended by SIGKILL; nobody knows by whom: the kernel's log shows no out-of-memory kill since it began"),
        (end(kernel=None), "ended by SIGKILL; nobody knows by whom: the kernel counts no out-of-memory kill since it began"),
        (End(rebooted=True), "the machine was started anew since the launch began"),
    ],
)  # fmt: skip
def test_what_is_known_of_the_end_in_words(ended: End, words: str) -> None:
    assert judge(told(), ended, {}, PATCHES).known == words


DOCKER = f"/system.slice/docker-{'ab12' * 16}.scope"
KUBERNETES = f"/kubepods.slice/kubepods-pod1.slice/cri-containerd-{'cd34' * 16}.scope"


@pytest.mark.parametrize(
    ("group", "words"),
    [
        (DOCKER, "the container ab12ab12ab12"),
        (KUBERNETES, "the pod's container cd34cd34cd34"),
        ("/slurm/uid_1000/job_4711/step_0", "the batch job 4711"),
        ("/system.slice/engine.service", "the unit engine.service"),
        ("/own", "the control group /own"),
    ],
)
def test_whose_limit_was_reached_is_told(group: str, words: str) -> None:
    text = "Memory cgroup out of memory: Killed process 812 (VLLM::Worker_TP)"
    kill = Kill(pid=812, name="VLLM::Worker_TP", text=text, group=group)
    judged = judge(told(*WRAPPER), end(exit_code=1, kernel=(kill,)), {812: "Worker_TP0"}, PATCHES)
    assert judged.known == f"the kernel's log: {text}, by the limit of {words}"
    assert judged.diagnosis.finding is not None
    assert (judged.diagnosis.finding.patch, judged.diagnosis.finding.confidence) == (LIMIT_REACHED, "certain")


def test_a_group_that_reached_its_own_limit_is_another_matter_than_a_full_machine() -> None:
    ended = End(exit_code=1, oom_kills=Kills(group=1, machine=1, limit=64 << 30))
    limited, full = (judge(told(), each, {}, PATCHES) for each in (ended, end(group=1)))
    assert limited.diagnosis.finding and limited.diagnosis.finding.patch == LIMIT_REACHED
    assert limited.known.endswith("of the launch's control group for want of memory: it may use 64.0 GiB")
    assert full.diagnosis.finding and full.diagnosis.finding.patch == OUT_OF_MEMORY


LOST = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
SEGFAULT = (
    "VLLM::Worker_TP[812]: segfault at 10 ip 00007f2c sp 00007ffd error 4 in libcuda.so.570[7f2c1c+98000]"
)
OURS_BY_PID = {812: "Worker_TP0"}


@pytest.mark.parametrize(
    ("fault", "patch", "confidence"),
    [
        (Reported(text=LOST), "gpu-hardware", "likely"),  # of no pid: the card may be another's
        (Reported(text=LOST.replace("79,", "79, pid=812,"), pid=812), "gpu-hardware", "certain"),
        (Reported(text=SEGFAULT, pid=812), "native-crash", "certain"),
    ],
)
def test_what_the_driver_and_the_processor_say_is_evidence(
    fault: Reported, patch: str, confidence: str
) -> None:
    judged = judge(told(*WRAPPER), end(exit_code=1, faults=(fault,)), OURS_BY_PID, PATCHES)
    assert judged.known == f"the kernel's log: {fault.text}"
    finding, root = judged.diagnosis.finding, judged.diagnosis.root_cause
    assert finding is not None and root is not None
    assert (finding.patch, finding.confidence, root.text) == (patch, confidence, judged.known)


def test_what_it_says_of_others_or_of_what_no_patch_knows_finds_nothing() -> None:
    other = Reported(text=SEGFAULT.replace("812", "4711"), pid=4711)
    assert judge(told(*WRAPPER), end(exit_code=1, faults=(other,)), OURS_BY_PID, PATCHES).known == ""
    own = Reported(text="NVRM: Xid (PCI:0000:3b:00): 31, pid=812, MMU Reported", pid=812)
    judged = judge(told(*WRAPPER), end(exit_code=1, faults=(own,)), OURS_BY_PID, PATCHES)
    assert (judged.known, judged.diagnosis.finding) == (f"the kernel's log: {own.text}", None)
    explained = judge(told(*LEDGER), end(exit_code=1, faults=(own,)), OURS_BY_PID, PATCHES)
    assert explained.known == ""
