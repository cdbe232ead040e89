"""How does a verb get from its options to a plan where no host is asked?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from orchestrator.cli.options import SharedOptions

if TYPE_CHECKING:
    from orchestrator.base.limits import Limits
    from orchestrator.job import Job
    from orchestrator.loop.deployment import Deployment
    from orchestrator.loop.reading import Reading
    from orchestrator.playbook.playbook import Playbook
    from orchestrator.survey.survey import Survey


def looking(
    options: SharedOptions,
    work: Callable[[Reading], int],
    on_hosts: Callable[[Deployment], int] | None = None,
    as_one: Callable[[Sequence[Reading]], int] | None = None,
    *,
    verb: str,
    gpu: str | None,
    facts: str | None,
    nodes: int | None = None,
    limits: Limits,
    **wishes: Any,
) -> int:
    """Carry `work`, which changes nothing, out on each host, or where none is named on the cards or facts that stand for it.

    On hosts `on_hosts` is done instead where there is one, once for those that serve together; where none is named `as_one` for
    `nodes` hosts that serve one model together, or as many as the playbook is written for.
    """
    if [bool(options.hosts), bool(gpu), bool(facts)].count(True) != 1:
        from orchestrator.base.errors import UsageError

        message = f"{verb} takes one of --host HOST, --gpu [COUNTx]NAME and --facts FILE"
        raise UsageError("invalid_option", message, verb=verb)
    if not options.hosts:
        return _without_a_host(
            options, work, as_one, gpu=gpu, facts=facts, nodes=nodes, limits=limits, **wishes
        )
    if nodes is not None:
        from orchestrator.base.errors import UsageError

        message = "--nodes is for hosts that are not named; allowed: --host for each of them, with --as-one"
        raise UsageError("invalid_option", message, verb=verb)

    from orchestrator.cli.session import on_each_host

    if on_hosts is not None:
        return on_each_host(options, on_hosts, limits=limits, report_to=sys.stderr, whole=True, **wishes)
    return on_each_host(
        options, lambda deployment: work(deployment.reading), limits=limits, report_to=sys.stderr, **wishes
    )


def _without_a_host(
    options: SharedOptions,
    work: Callable[[Reading], int],
    as_one: Callable[[Sequence[Reading]], int] | None,
    *,
    gpu: str | None,
    facts: str | None,
    nodes: int | None,
    limits: Limits,
    **wishes: Any,
) -> int:
    """Carry `work` out on the cards that `gpu` names, or on a host as its saved `facts` tell of it."""
    from orchestrator.base.errors import UsageError
    from orchestrator.base.events import Report
    from orchestrator.cli.given import folder_of
    from orchestrator.cli.hints import command_for
    from orchestrator.cli.session import launched_by, wishes_of
    from orchestrator.cli.typed import again
    from orchestrator.hosts.absent import AbsentHost
    from orchestrator.job import Job
    from orchestrator.loop.supposed import Supposed
    from orchestrator.report.choose import display

    if options.as_one and nodes is None:
        message = "--as-one spreads a model over several hosts, and none is named: say how many, --nodes N"
        raise UsageError("as_one_offline", message)
    if not options.playbook:
        message = "what is in a folder its host alone can tell; allowed: --host HOST, or a playbook or model"
        raise UsageError("invalid_option", message, verb="plan")
    sought = launched_by(options, wishes.get("consents", ()))
    if sought.unread is not None:
        raise sought.unread
    playbook = sought.playbook
    if options.model_dir:
        playbook = playbook.in_folder(folder_of(options.model_dir, local=False))
    name, survey = _supposed(playbook, gpu, facts)
    together = nodes or playbook.parallel.nodes
    with display(sys.stderr, as_json=False) as shown:
        names = (
            [f"HOST-{number}" for number in range(1, together + 1)] if as_one and together > 1 else ["HOST"]
        )
        asked = command_for(again(replace(options, as_one=len(names) > 1), *names))
        job = Job(
            AbsentHost(name),
            playbook,
            Report(shown, name),
            wishes_of(options, **wishes),
            asked,
            limits,
            published=sought.published,
        )
        if as_one and together > 1:
            return as_one(_apart(job, survey, names))
        return work(Supposed(job, survey))


def _apart(job: Job, survey: Survey, names: Sequence[str]) -> Sequence[Reading]:
    """One host of these names each, all of them as the survey says."""
    from orchestrator.group.spread import spread, supposed
    from orchestrator.hosts.absent import AbsentHost
    from orchestrator.loop.agreeing import agree
    from orchestrator.loop.supposed import Supposed

    whole, choices = spread(job.playbook, len(names))
    unasked = replace(survey, unasked=(*survey.unasked, "how the hosts reach each other"))
    jobs = {
        name: replace(
            job,
            host=AbsentHost(name),
            playbook=whole.as_node(node),
            spread=tuple(choices),
            group=tuple(names),
        )
        for name, node in supposed(whole, names).items()
    }
    readings = [
        Supposed(own, unasked, own.playbook.node.role if own.playbook.node else "") for own in jobs.values()
    ]
    agree(readings)
    return readings


def _supposed(playbook: Playbook, gpu: str | None, facts: str | None) -> tuple[str, Survey]:
    """The name of what is planned for, and how it stands."""
    from orchestrator.survey import supposed

    if facts is not None:
        from orchestrator.cli.facts_file import load

        saved = load(facts)
        return saved.host, supposed.of_facts(playbook, saved)
    from orchestrator.survey.cards import named

    cards = named(gpu or "")
    return cards.name, supposed.of_cards(playbook, cards)
