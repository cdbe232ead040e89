"""Which of the incidents of a launch began its failure?"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.diagnosis.crashes import is_word_of_a_shell
from orchestrator.diagnosis.incident import Incident
from orchestrator.diagnosis.launches import FoldedIncident, LaunchLog
from orchestrator.engines.log_grammar import LogGrammar

_JUST_BEFORE = 30
"""Lines between a failure and one that came of it."""


def root_of(launch: LaunchLog, *, ended: bool = False) -> FoldedIncident | None:
    """The incident that began the failure, None if the launch did not fail.

    Before the server is up an exception counts unless the launch went on after it. Afterwards only the engine's own
    word counts: a refused request is no failure of the launch, and what has no header, or the API server's, may be
    what a client sent. Such a word may tell why where the launch is known to have `ended`; and a crash, of which nothing has
    a header, where the engine says that it died and names no cause.
    """
    up = launch.startup.up_line
    since = [
        folded
        for folded in launch.incidents
        if folded.incident.role != "benign" and folded.incident.first_line > (up or 0)
    ]
    if stopping := launch.startup.stopping:
        # told to stop, a launch throws more exceptions; if it failed before it was told, those before count, and so does
        # the one by which a server that was not up left: it stops its engine before it says what failed
        since = [
            folded
            for folded in since
            if folded.incident.first_line < stopping.number
            or (up is None and _left_by(folded.incident, launch.grammar))
        ]
    if launch.startup.serves_since is not None:  # a command line is refused before
        since = [folded for folded in since if folded.incident.kind != "refusal"]
    if launch.startup.serves_since is not None and not ended:
        own = [folded.incident for folded in since if folded.incident.of_engine and folded.incident.fatal]
        unexplained = bool(own) and not any(_names_a_cause(incident) for incident in own)
        since = [
            folded
            for folded in since
            if folded.incident.of_engine or (unexplained and folded.incident.kind == "crash")
        ]
    fatal = [folded for folded in since if folded.incident.fatal]
    if not fatal and (launch.startup.serves_since is not None or not since):
        return None
    standing = [
        folded for folded in since if folded.incident.fatal or not launch.went_on_after(folded.incident)
    ]
    engine = (*launch.grammar.processes.children, "rank")
    unsaid = _says_only_that_a_child_failed([folded.incident for folded in standing])
    root = min(
        standing, key=lambda folded: _rank(folded.incident, up is not None, engine, unsaid), default=None
    )
    return root and (_left_undone(root.incident, since) or root)


def _left_undone(incident: Incident, since: Sequence[FoldedIncident]) -> FoldedIncident | None:
    """What failed just before in the same process, in an exception that was only logged, where this one tells no more than that
    something is not there: what was to put it there did not come to it."""
    if not incident.root.is_bare:
        return None
    before = (
        folded
        for folded in since
        if 0 < incident.first_line - folded.incident.last_line <= _JUST_BEFORE
        and folded.incident.kind == "exception"
        and folded.incident.role == "initiating"
        and (folded.incident.process, folded.incident.pid) == (incident.process, incident.pid)
        and not folded.incident.root.is_bare
    )
    return next(before, None)


def _says_only_that_a_child_failed(standing: Sequence[Incident]) -> bool:
    """Whether all that is said of ended processes is a parent's word that a child failed, behind which it kills the others and
    itself: what an engine's process says of a peer that is gone is more than that."""
    ended = [incident for incident in standing if incident.died_only]
    announced = min((incident.first_line for incident in ended if incident.role == "cascade"), default=None)
    return announced is not None and all(
        incident.role == "cascade"
        or (incident.first_line > announced and is_word_of_a_shell(incident.chain[0].text))
        for incident in ended
    )


def _left_by(incident: Incident, grammar: LogGrammar) -> bool:
    """Whether a server's program ended by it, and not by the signal that ended it."""
    front = incident.process is None or incident.process.lower().startswith(grammar.processes.front)
    return front and incident.leaves_program and incident.role == "initiating"


def _names_a_cause(incident: Incident) -> bool:
    """Whether it says more than that somebody else failed or is gone."""
    return incident.role == "initiating" and not incident.died_only


def _rank(incident: Incident, serving: bool, engine: tuple[str, ...], unsaid: bool) -> tuple[int, int]:
    """`engine`: how the names of its processes begin, torch's for a rank among them; `unsaid`: whether nothing else says
    more of processes that ended than that they did."""
    order = {"initiating": 0, "teardown": 3, "cascade": 4}.get(incident.role, 5)
    own = (incident.process or "").startswith(engine)
    if incident.died_only:
        order = 2
    elif incident.role == "teardown" and unsaid and own:
        order = 1
    elif order == 0:
        # what Python made of another language's failure says it better
        order = int(incident.kind == "native" or (serving and incident.kind == "exception" and not own))
    return order, incident.first_line
