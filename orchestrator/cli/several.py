"""How is one thing done on several hosts side by side, each with its own end?"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from orchestrator.base.errors import DeployError, mistake
from orchestrator.cli.breadth import Breadth
from orchestrator.report.crowd import FEW

if TYPE_CHECKING:
    from orchestrator.base.events import Display
    from orchestrator.report.outcomes import HostEnd

DONE: Mapping[int, str] = {0: "done"}


def side_by_side(
    names: Sequence[str],
    instance: str,
    work: Callable[[str], int],
    shown: Display,
    *,
    as_json: bool,
    breadth: Breadth,
    words: Mapping[int, str] = DONE,
    closing: Callable[[Sequence[HostEnd]], None] | None = None,
) -> int:
    """Each failure is told as it happens, of many hosts each kind of failure once; the highest code wins.

    `instance` is the deployment that is on each of them, "" where it is for none. `words` says what an exit code of `work` means. At the end the hosts are told by what they came to, or by `closing` instead.
    """
    from orchestrator.base.events import Report
    from orchestrator.report.outcomes import HostEnd, groups_json, in_groups, not_begun

    kinds = set[tuple[str, str]]()
    crowd = len(names) > FEW and not as_json

    def come_to(name: str) -> HostEnd:
        try:
            code = work(name)
        except Exception as error:
            end = _end_of(name, error)
            if not crowd or (end.word, end.why) not in kinds:
                kinds.add((end.word, end.why))
                _tell(name, instance, error, shown, as_json=as_json)
            return end
        return HostEnd(name, code, words.get(code, f"exit {code}"))

    def ended(name: str) -> HostEnd:
        end = come_to(name)
        Report(shown, name, instance).emit("end", end.word, why=end.why or None, exit_code=end.code)
        return end

    begun = at_once(names, ended, breadth, lambda end: end.code != 0)
    ends = [begun.get(name) or not_begun(name) for name in names]
    if closing is not None:
        closing(ends)
    else:
        Report(shown, "", instance).emit("summary", in_groups(ends), outcomes=groups_json(ends))
    return max(end.code for end in ends)


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


def _end_of(name: str, error: Exception) -> HostEnd:
    from orchestrator.report.outcomes import of_error

    return of_error(name, error if isinstance(error, DeployError) else mistake(error))


def _tell(name: str, instance: str, error: Exception, shown: Display, *, as_json: bool) -> None:
    from orchestrator.cli.main import tell, trace

    with shown.aside():
        if isinstance(error, DeployError):
            tell(error, as_json=as_json, host=name, instance=instance)
        else:
            trace(error)
            tell(mistake(error), as_json=as_json, host=name, instance=instance)
