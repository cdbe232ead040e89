"""Which options and variables will be launched, once playbook, remedies in force and changes are put together?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from orchestrator.engines.command_line import checked_value
from orchestrator.engines.options import Option, Options, Wanted
from orchestrator.engines.variable import Variable
from orchestrator.on_host.secrets import hub_token
from orchestrator.plan.change import Change
from orchestrator.playbook.playbook import Playbook
from orchestrator.survey.survey import Survey

_Value = TypeVar("_Value")


def requested(playbook: Playbook, *, python: str, folder: str) -> Options:
    """What the playbook and this command's options ask for; `python` and `folder` are absolute paths on the host."""
    parallel = playbook.parallel

    def option(value: _Value, *key: str) -> Option[_Value]:
        return Option(value, playbook.origin(*key))

    return playbook.kind.launched(
        Wanted(
            python=python,
            folder=option(folder, "checkpoint", "folder"),
            served_name=option(playbook.served_name, "model", "served_name"),
            listen=option(playbook.listen, "listen"),
            port=option(playbook.port, "port"),
            tensor=option(parallel.tensor, "parallel", "tensor"),
            pipeline=option(parallel.pipeline, "parallel", "pipeline"),
            data=option(parallel.data, "parallel", "data"),
            context=option(playbook.context, "context"),
            arguments={name: option(value, "arguments", name) for name, value in playbook.arguments.items()},
            environment=tuple(
                Variable(name, item.value, item.reason, playbook.origin("environment", name))
                for name, item in playbook.environment.items()
            ),
            node=playbook.node,
        )
    )


def standing(
    playbook: Playbook, survey: Survey, version: str | None = None, *, share: float | None = None
) -> Options:
    """What is asked for with what the patches in force set, without what a remedy may not, as this version of the engine
    spells it.

    `share` of each card is asked for instead of what the playbook does.
    """
    history, left_out = survey.history, overruled(playbook, survey)
    python = survey.engine.executable if survey.engine else playbook.engine.interpreter
    flags = {name: value for name, value in history.flags.items() if name not in left_out}
    environment = {name: value for name, value in history.environment.items() if name not in left_out}
    options = requested(playbook, python=python, folder=survey.checkpoint.folder)
    options = (options if share is None else options.taking(share)).remedied(flags, environment)
    return options.for_version(version) if version else options


def changed(options: Options, changes: Iterable[Change]) -> Options:
    """The options once these changes are in; the later win."""
    for change in changes:
        options = options.remedied(change.flags, change.environment)
    return options


def overruled(playbook: Playbook, survey: Survey) -> dict[str, str]:
    """What records of patches in force name and a remedy may not, with the reason: they are older than that rule, or
    somebody else wrote them."""
    engine, history = playbook.kind, survey.history
    reasons = {}
    for name, value in (*history.flags.items(), *history.environment.items()):
        op = "remove" if value is None else "set"
        try:
            checked_value(value if value is not None else "")
            if name in history.flags:
                engine.arguments.remedied(name, op, value)
            else:
                engine.variables.remedied(name, op, value)
        except ValueError as error:
            reasons[name] = str(error)
    return reasons


def without_token(options: Options, host_endpoint: str | None) -> tuple[Options, tuple[str, ...]]:
    """The options without the Hub's token where it leads elsewhere than to the Hub, and the names that were in it.

    `host_endpoint` is the HF_ENDPOINT that the host itself sets. The host judges again by what it really has
    (`on_host/programs/launch.py`).
    """
    names, values = hub_token.withheld({"HF_ENDPOINT": host_endpoint or "", **options.sent}, consent=False)
    reason = "no token goes to another place than the Hub without the consent token-to-endpoint"
    instead = [Variable(name, value, reason, "default") for name, value in values.items()]
    return options.without_variables(names).with_variables(instead), tuple(names)
