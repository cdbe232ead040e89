"""What does SGLang (0.4 to 0.5.23) say when something goes wrong?"""

from __future__ import annotations

import re

from orchestrator.engines.log_grammar import Failures
from orchestrator.engines.sglang.log.doings import DOINGS

_SPEAKERS = r"(?:Scheduler|TpModelWorker\w*|DetokenizerManager|TokenizerManager|DataParallelController|Multi\w{1,40}Router)"

FAILURES = Failures(
    wrappers=re.compile(
        r"Rank \d{1,5} scheduler (?:is dead|died)|Initialization failed\. Please see the error messages above"
        r"|It usually means (?:the|one) child failed|res=<Response \[5\d\d\]>|Server process terminated unexpectedly"
    ),
    titles=re.compile(rf"{_SPEAKERS} hit an exception|Initialization failed\. "),
    fatal_titles=re.compile(rf"{_SPEAKERS} hit an exception|Initialization failed\. "),
    asides=re.compile(r"Capturing batches|Capturing num tokens|Loading |Multi-thread loading|\[Gloo\] "),
    programs=("sglang", "launch_server"),
    crashes=re.compile(
        r"No module named '?sglang'?$|^\S{0,80}sh: (?:line )?\d{1,6}: (?:exec: )?(?:\S{1,200}/)?sglang: (?:not found|Permission denied)$"
        r"|^(?:\w{1,40} )?[Ww]atchdog timeout \((?!.{0,80}soft=True)"
    ),
    deaths=re.compile(
        r"^(?:Received sigquit from a child process|SIGQUIT received\.|Rank \d{1,5} scheduler (?:is dead|died)"
        r"|Subprocess \S{1,80} \(pid=\d{1,10}\) crashed with|Scheduler or DataParallelController \d{1,10} terminated with)"
    ),
    words=re.compile(
        r"--mem-fraction-static\b|\bsgl_kernel\b|\bSGLANG_[A-Z_]{3,80}\b|lmsysorg/sglang|github\.com/sgl-project/"
    ),
    crash_hints=(
        "No module",
        "sglang: ",
        "atchdog timeout",
        "sigquit",
        "SIGQUIT",
        "scheduler ",
        "crashed with",
        "terminated with",
    ),
    doings=DOINGS,
    appended=re.compile(r"\s*\nPossible solutions:\s*\n1\. "),
)
