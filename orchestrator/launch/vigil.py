"""Is a server that was healthy, and does not answer now, slow or broken? Pure: answers of completions in, a verdict out.

Nothing that a log says can settle it, since clients write there; only whether completions come out. An engine that makes
tokens for anybody is busy, whatever becomes of our own request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from orchestrator.base.amounts import duration
from orchestrator.programs.smoke import Completion

COMPLETIONS = 3
SECONDS = 180.0
"""So many completions in a row fail, over at least so long, before a server that was healthy is taken for broken: it may be
stopped in a debugger, swap, compile a kernel, or have a queue of long prompts."""
COMPLETION_SECONDS = 60.0
"""How long each of them may take."""
PAUSE_SECONDS = 10.0
"""Between two of them."""

VigilVerdict = Literal["answers", "unknown", "refuses", "busy", "broken"]
"""answers: a completion came out; unknown: it is too early to say; refuses: it answers, and takes no completion from
us; busy: it makes tokens for others; broken: neither we nor anybody else gets a token."""


@dataclass(frozen=True)
class Trial:
    """One completion that was asked for: when it began and ended (seconds on one clock), and what came of it."""

    began: float
    ended: float
    answer: Completion

    @property
    def refused(self) -> bool:
        """Whether the server itself answered that it will not: no key, no such model, too many requests."""
        status = self.answer.status
        return status is not None and (400 <= status < 500 or status == 503)

    @property
    def made(self) -> tuple[int, ...]:
        """Tokens that the engine had made for all of its clients before and after, as far as it told."""
        counts = (self.answer.made_before, self.answer.made_after)
        return tuple(count for count in counts if count is not None)


def verdict(trials: tuple[Trial, ...]) -> VigilVerdict:
    """What so many completions, oldest first, say of a server whose processes live."""
    if not trials:
        return "unknown"
    last = trials[-1]
    if last.answer.ok:
        return "answers"
    if last.answer.status in (401, 403):
        return "refuses"  # waiting brings no key
    if len(trials) < COMPLETIONS or last.ended - trials[0].began < SECONDS:
        return "unknown"
    if tokens_made(trials):
        return "busy"
    return "refuses" if any(trial.refused for trial in trials) else "broken"


def tokens_made(trials: tuple[Trial, ...]) -> int:
    """How many tokens the engine made for anybody while it was asked; 0 where it does not tell, or began anew."""
    counts = [count for trial in trials for count in trial.made]
    return max(0, counts[-1] - counts[0]) if counts else 0


def tally(trials: tuple[Trial, ...]) -> str:
    """How often and how long it was asked, in words: "3 completions over 3m05s"."""
    completions = "1 completion" if len(trials) == 1 else f"{len(trials)} completions"
    return f"{completions} over {duration(trials[-1].ended - trials[0].began)}"
