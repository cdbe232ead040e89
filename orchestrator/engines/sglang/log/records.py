"""How does SGLang dress a record of its log, and which process wrote it?"""

from __future__ import annotations

import re

from orchestrator.engines.log_grammar import Head, Records

_TIME = r"\d\d-\d\d \d\d:\d\d:\d\d"
_RANKS = r"(?: (?:DP|PP|TP|EP|ATTN_CP|MOE_DP)\d{1,4}){1,6}| encode_\w{1,20}(?:\[\d{1,4}\])?"
_NCCL = r"[\w.-]{1,80}:\d{1,10}:\d{1,10} \[-?\d"
"""NCCL may stamp its lines in the same form; those are read as everybody's."""
_FORM = r"\[(?:\d{4}-)?%s(?:[.,]\d{3})?(?:%s)?\] (?=\S)(?!%s)"
_OPENING = _FORM % (_TIME, _RANKS, rf"{_NCCL}|.{{0,80}}\[(?:\d{{4}}-)?{_TIME}")
"""A stamp with another one behind it is a launcher's."""
_HEADER = re.compile(_FORM % (f"(?P<time>{_TIME})", f"(?P<ranks>{_RANKS})", _NCCL))
_SPEAKER = re.compile(
    r"(?P<scheduler>(?:Scheduler|TpModelWorkerClient|TpModelWorker|ModelRunner) hit an exception|Scheduler watchdog timeout"
    r"|Watchdog timeout \(|Init torch distributed |Load weight |KV Cache is allocated|Memory pool end\.|Capture |Prefill batch"
    r"|Decode batch|max_total_num_tokens=)"
    r"|(?P<detokenizer>(?:DetokenizerManager|MultiDetokenizerRouter) hit an exception|Detokenizer\w* watchdog timeout)"
    r"|(?P<data_parallel_controller>DataParallelController hit an exception)"
    r"|(?P<tokenizer_manager>(?:TokenizerManager|MultiTokenizerRouter) hit an exception)"
    r"|(?P<main_process>Received sigquit from a child process|SIGQUIT received\.|Subprocess \S{1,80} \(pid=\d|Rank \d{1,5} scheduler "
    r"|Scheduler or DataParallelController \d|Initialization failed\.|Health check failed\.)"
)
"""Who says it, where a header names no rank: with one GPU a scheduler has none, and the other processes never have one."""


def head(text: str) -> Head:
    """Who wrote a record, and what stands before its message. A stamp of the same form before a record is a launcher's."""
    header = _HEADER.match(text)
    if header is None:
        return Head(None, None, None, None, None, text)
    while inner := _HEADER.match(text, header.end()):
        header = inner
    rest = text[header.end() :]
    return Head(_process(header["ranks"], rest), None, "", header["time"], None, rest)


def _process(ranks: str | None, message: str) -> str | None:
    if ranks:
        return ranks.strip()
    speaker = _SPEAKER.match(message)
    return str(speaker.lastgroup).replace("_", " ") if speaker else None


RECORDS = Records(head, _OPENING, plain=True, goes_on=True)
