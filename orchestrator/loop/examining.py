"""How do hosts that are examined stand to each other, whether or not something is deployed on them?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from orchestrator.base.events import Report
from orchestrator.checks.between import by_facts, folders, reach
from orchestrator.checks.between.collective import MeasuredBetween
from orchestrator.checks.between.group_check import GroupCheck
from orchestrator.facts.saved import Saved
from orchestrator.group import spread
from orchestrator.hosts.host import Host
from orchestrator.loop import collective_between
from orchestrator.loop.between import folder_of
from orchestrator.loop.reach import DIAL_SECONDS, Party, reached
from orchestrator.loop.side_by_side import side_by_side
from orchestrator.playbook.playbook import Playbook
from orchestrator.programs.addresses import ListAddresses
from orchestrator.programs.ask import ask
from orchestrator.survey.survey import Survey, survey

NOBODY = "doctor"
"""Under which name hosts are looked at where nothing is deployed."""


def between(
    looked: Sequence[tuple[Host, Saved]], playbook: Playbook | None, report: Report, *, collective: bool
) -> tuple[tuple[GroupCheck, ...], MeasuredBetween | None]:
    """Their facts compared, with a playbook also their checkpoints; what comes of it when each dials all others, and, where they
    reach each other and it is asked for, of a `collective` over all of their cards."""
    hosts = [host for host, _ in looked]
    addresses = ListAddresses(instance=playbook.instance if playbook else NOBODY)
    asked = side_by_side([partial(ask, host, addresses) for host in hosts])
    listed = dict(zip((host.name for host in hosts), asked, strict=True))
    surveys: dict[str, Survey] = {}
    if playbook is None:
        nodes = spread.unplanned(listed)
    else:
        playbook, _ = spread.spread(playbook, len(hosts))
        nodes = spread.nodes(playbook, listed)
        seen = side_by_side([partial(survey, host, playbook, facts=saved.facts) for host, saved in looked])
        surveys = dict(zip(nodes, seen, strict=True))
    parties = [
        Party(host, nodes[host.name], tuple(member.pid for member in surveys[host.name].observed.members))
        if surveys
        else Party(host, nodes[host.name])
        for host in hosts
    ]
    with report.wait("meet", f"{len(parties)} hosts dial each other", limit=10 * DIAL_SECONDS):
        places = reached(parties)
    if playbook is None:  # nobody is to meet on that port
        places = {name: replace(place, taken=None) for name, place in places.items()}
    option = playbook.kind.meeting if playbook else None
    far = tuple(reach.check(places, parties[0].node.port, option))
    checks = (
        *by_facts.check({saved.host: saved.facts for _, saved in looked}),
        *folders.check({name: folder_of(each) for name, each in surveys.items()}),
        *far,
    )
    if not collective or any(check.verdict == "fail" for check in far):
        return checks, None
    more, measured = collective_between.measure(parties, [saved for _, saved in looked], playbook, report)
    return (*checks, *more), measured
