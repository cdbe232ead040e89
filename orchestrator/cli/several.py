"""How is one thing done on several hosts side by side, each with its own end?"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from orchestrator.base.errors import DeployError, mistake
from orchestrator.cli.breadth import Breadth

if TYPE_CHECKING:
    from orchestrator.base.events import Display
    from orchestrator.report.outcomes import HostEnd

DONE: Mapping[int, str] = {0: "done"}


def side_by_side(
    names: Sequence[str],
    work: Callable[[str], int],
    shown: Display,
    *,
    as_json: bool,
    breadth: Breadth,
    words: Mapping[int, str] = DONE,
    closing: Callable[[Sequence[HostEnd]], None] | None = None,
) -> int:
    """Each failure is told as it happens, and the highest code wins.

    `words` says what an exit code of `work` means. At the end the hosts are told by what they came to, or by `closing` instead.
    """
    from orchestrator.report.outcomes import HostEnd, not_begun, summary

    def ended(name: str) -> HostEnd:
        try:
            code = work(name)
        except DeployError as error:
            return _told(error, name, shown, as_json=as_json)
        except Exception as error:
            return _told(mistake(error), name, shown, as_json=as_json, raised=error)
        return HostEnd(name, code, words.get(code, f"exit {code}"))

    outcomes = at_once(names, ended, breadth, lambda outcome: outcome.code != 0)
    ends = [outcomes.get(name) or not_begun(name) for name in names]
    if closing is not None:
        closing(ends)
    else:
        shown.show(summary(ends))
    return max(outcome.code for outcome in ends)


def at_once(
    names: Sequence[str],
    work: Callable[[str], HostEnd],
    breadth: Breadth,
    failed: Callable[[HostEnd], bool],
) -> dict[str, HostEnd]:
    """What `work` came to on each host that was begun: as many threads as may be at work take one name after the other."""
    waiting, ends = deque(names), dict[str, "HostEnd"]()

    def go_on() -> None:
        while waiting:
            try:
                name = waiting.popleft()
            except IndexError:  # another thread took the last one
                return
            ends[name] = work(name)
            if breadth.fail_fast and failed(ends[name]):
                waiting.clear()

    threads = [threading.Thread(target=go_on, daemon=True) for _ in range(min(breadth.at_once, len(names)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ends


def _told(
    error: DeployError, name: str, shown: Display, *, as_json: bool, raised: Exception | None = None
) -> HostEnd:
    from orchestrator.cli.main import tell, trace
    from orchestrator.report.outcomes import of_error

    with shown.aside():
        if raised is not None:
            trace(raised)
        tell(error, as_json=as_json, host=name)
    return of_error(name, error)
