"""How does a verb get from its options to a plan where no host is asked?"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from orchestrator.cli.options import SharedOptions

if TYPE_CHECKING:
    from orchestrator.base.limits import Limits
    from orchestrator.loop.deployment import Deployment
    from orchestrator.loop.reading import Reading
    from orchestrator.playbook.playbook import Playbook
    from orchestrator.survey.survey import Survey


def looking(
    options: SharedOptions,
    work: Callable[[Reading], int],
    on_hosts: Callable[[Deployment], int] | None = None,
    *,
    verb: str,
    gpu: str | None,
    facts: str | None,
    limits: Limits,
    **wishes: Any,
) -> int:
    """Carry `work`, which changes nothing, out on each host, or where none is named on the cards or facts that stand for it.

    On hosts `on_hosts` is done instead where there is one, once for those that serve together.
    """
    if [bool(options.hosts), bool(gpu), bool(facts)].count(True) != 1:
        from orchestrator.base.errors import UsageError

        message = f"{verb} takes one of --host HOST, --gpu [COUNTx]NAME and --facts FILE"
        raise UsageError("invalid_option", message, verb=verb)
    if not options.hosts:
        return _without_a_host(options, work, gpu=gpu, facts=facts, limits=limits, **wishes)

    from orchestrator.cli.session import on_each_host

    if on_hosts is not None:
        return on_each_host(options, on_hosts, limits=limits, report_to=sys.stderr, whole=True, **wishes)
    return on_each_host(
        options, lambda deployment: work(deployment.reading), limits=limits, report_to=sys.stderr, **wishes
    )


def _without_a_host(
    options: SharedOptions,
    work: Callable[[Reading], int],
    *,
    gpu: str | None,
    facts: str | None,
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

    if options.as_one:
        raise UsageError(
            "as_one_offline", "--as-one spreads a model over hosts that are named; allowed: --host HOST"
        )
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
    with display(sys.stderr, as_json=False) as shown:
        asked = command_for(again(options, "HOST"))
        report = Report(shown, name)
        job = Job(
            AbsentHost(name),
            playbook,
            report,
            wishes_of(options, **wishes),
            asked,
            limits,
            published=sought.published,
        )
        return work(Supposed(job, survey))


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
