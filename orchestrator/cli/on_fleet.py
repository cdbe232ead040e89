"""How does a verb get from its options to the hosts of a fleet, and to the deployment of each replica?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import click

from orchestrator.base.errors import DeployError, HostError, UsageError
from orchestrator.cli.given import Given, Sought, connected
from orchestrator.cli.options import SharedOptions
from orchestrator.cli.session import (
    CONNECT_SECONDS,
    Sourcing,
    by_the_host,
    know_passwords,
    launched_by,
    wishes_of,
)

if TYPE_CHECKING:
    from typing import TextIO

    from orchestrator.base.events import Display, Report
    from orchestrator.base.limits import Limits
    from orchestrator.fleet.looking import FleetStanding, HostLook
    from orchestrator.fleet.replica import Replica
    from orchestrator.hosts.host import Host
    from orchestrator.job import Job
    from orchestrator.loop.fleet import FleetMember
    from orchestrator.loop.routing import Routing
    from orchestrator.playbook.playbook import Playbook


@dataclass(frozen=True)
class OpenFleet:
    """The hosts of a fleet as they were looked at, while the connections are open."""

    command: Given
    shown: Display
    standing: FleetStanding
    stack: ExitStack = field(repr=False)
    absent: Mapping[str, DeployError] = field(default_factory=dict)
    """The hosts that could not be looked at, where that ends nothing."""

    @property
    def options(self) -> SharedOptions:
        return self.command.options

    @property
    def playbook(self) -> Playbook:
        return self.command.sought.playbook

    @property
    def name(self) -> str:
        return self.playbook.instance

    @property
    def cards(self) -> int:
        """How many each replica gets."""
        return 0 if self.playbook.needs.gpus == 0 else self.playbook.parallel.gpus

    def replicas(self, count: int | None) -> tuple[Replica, ...]:
        """A place for each of so many; as many as there are where no number is asked for, or one."""
        from orchestrator.fleet.placing import FleetShape, place

        standing = self.standing
        asked = FleetShape(self.name, count or len(standing.replicas) or 1, self.cards, self.playbook.port)
        return place(asked, standing.rooms, standing.keeping(self.cards))

    def members(self, replicas: Sequence[Replica]) -> tuple[FleetMember, ...]:
        """Each replica with the deployment that it is, on a connection of its own.

        Hosts are reached side by side, and each of them once at a time: an sshd refuses whom it has no time for (MaxStartups).
        """
        from orchestrator.loop.side_by_side import side_by_side

        def on(host: str) -> list[FleetMember]:
            return [self._member(replica) for replica in replicas if replica.host == host]

        hosts = dict.fromkeys(replica.host for replica in replicas)
        opened = side_by_side([partial(on, host) for host in hosts], at_once=self.options.breadth.at_once)
        return tuple(sorted((each for some in opened for each in some), key=lambda each: each.replica.number))

    def _member(self, replica: Replica) -> FleetMember:
        from orchestrator.group.group import Group
        from orchestrator.loop.deployment import Deployment
        from orchestrator.loop.fleet import FleetMember

        playbook = self.playbook.with_overrides(replica.settings, env=replica.environment)
        job = self._job(playbook, self._words(replica), replica.host, replica.name)
        return FleetMember(replica, Deployment(Group.of(job)))

    def _words(self, replica: Replica) -> str:
        """In which words any verb is asked for one replica alone."""
        from orchestrator.cli.typed import again

        own = replace(
            self.options,
            settings=(*self.options.settings, *replica.settings),
            env=(*self.options.env, *replica.environment),
            name=replica.name,
        )
        return again(own, replica.host)

    def name_replica(self, error: DeployError, replica: Replica) -> None:
        """Let an error know of which replica it is, for its next command."""
        error.known.setdefault("replica", replica.name)
        error.asked = error.asked or self._words(replica)

    def router_job(self) -> Job:
        """Where the router of the fleet is, or would be: at the playbook's own port on the first host."""
        from orchestrator.cli.typed import again
        from orchestrator.fleet.replica import router_name

        name, host = router_name(self.name), self.standing.rooms[0].name
        return self._job(self.playbook, again(replace(self.options, name=name), host), host, name)

    def routing(self, *, wanted: bool = True) -> Routing | None:
        """The router, where one is `wanted` or there; None for an engine that has none."""
        from orchestrator.loop.routing import Routing

        router = self.playbook.kind.router
        there = self.standing.router is not None
        return Routing(self.router_job(), router) if router is not None and (wanted or there) else None

    def report(self, host: str, instance: str) -> Report:
        """People tell replicas apart by their name, programs by host and instance."""
        from orchestrator.base.events import Report

        return Report(self.shown, host if self.options.json else instance, instance)

    def _job(self, playbook: Playbook, words: str, host: str, name: str) -> Job:
        from orchestrator.cli.hints import command_for

        report = self.report(host, name)
        connection = opened(self.options, host, report, self.stack)
        connection.other_python = playbook.engine.interpreter
        own = command_for(words)
        whole = self.asked("restart")  # alone it would be restarted while it has requests
        return self.command.job(
            connection, playbook.as_instance(name), report, lambda verb: whole if verb == "restart" else own(verb), lasting=False,
        )  # fmt: skip

    def asked(self, verb: str) -> str:
        """The command that asks a verb of the fleet, for hints."""
        return f"deploy fleet {verb} {_of_all(self.options)}"


def _of_all(options: SharedOptions) -> str:
    """The playbook and all hosts, with every option that leads to the same ones."""
    from orchestrator.cli.typed import again

    return again(options, *dict.fromkeys(options.hosts), as_one=False)


@contextmanager
def _named(options: SharedOptions, fleet: str) -> Iterator[None]:
    """Let an error know of which fleet it is, for its next command."""
    try:
        yield
    except DeployError as error:
        error.known.setdefault("fleet", fleet)
        error.asked = error.asked or _of_all(options)
        raise


def on_fleet(
    options: SharedOptions,
    work: Callable[[OpenFleet], int],
    *,
    limits: Limits | None = None,
    forced: tuple[str, ...] = (),
    forbidden: tuple[str, ...] = (),
    predict: bool = True,
    consents: tuple[str, ...] = (),
    yes: bool = False,
    report_to: TextIO | None = None,
    source: Sourcing | None = None,
    whichever: bool = False,
) -> int:
    """Carry `work` out on all hosts together; what happens is told as in `session.on_each_host`.

    `limits` are those of verbs that plan a launch: of a model without a playbook they ask the Hub, unless another `source` is named.
    A host that cannot be looked at ends it, unless it is done for `whichever` can be: what a verb that places replicas does not see it
    would place anew.
    """
    know_passwords(options.hosts)
    sought = (source or (by_the_host if limits is None else launched_by))(options, consents)
    wishes = wishes_of(options, forced, forbidden, predict, consents, yes=yes)
    from orchestrator.report.choose import display

    as_json = options.json and report_to is None
    with (
        display(report_to or sys.stdout, as_json=as_json, hosts=2) as shown,
        ExitStack() as stack,
        _named(options, sought.playbook.instance),
    ):
        _require_one_host(options, sought.playbook)
        standing, absent = _standing(options, sought.playbook.instance, shown, stack, whichever=whichever)
        with shown.aside():
            _tell(absent, as_json=options.json)
        options, sought = _as_there(options, sought, standing.cards)
        sought = _where_asked(sought, standing.front)
        _require_cards(sought.playbook)
        code = work(OpenFleet(Given(options, sought, wishes, limits), shown, standing, stack, absent))
        return max(code, *(error.exit_code for error in absent.values())) if absent else code


def _tell(absent: Mapping[str, DeployError], *, as_json: bool) -> None:
    """Each kind of failure in full once; programs get every one."""
    from orchestrator.cli.main import tell
    from orchestrator.report.alike import named

    kinds: dict[str, list[str]] = {}
    for name, error in absent.items():
        likewise = kinds.setdefault(error.code, [])
        likewise.append(name)
        if as_json or len(likewise) == 1:
            tell(error, as_json=as_json, host=name)
    for likewise in kinds.values():
        if len(likewise) > 1 and not as_json:
            click.echo(f"the same of {named(likewise[1:])}", err=True)


def _as_there(options: SharedOptions, sought: Sought, cards: int | None) -> tuple[SharedOptions, Sought]:
    """A layer spread over as many cards as each replica has that is there, unless the command says over how many."""
    playbook = sought.playbook
    beside = playbook.parallel.gpus // playbook.parallel.tensor
    asked = playbook.origin("parallel", "tensor") == "option" or playbook.needs.gpus == 0
    if asked or not cards or cards % beside or cards == playbook.parallel.gpus:
        return options, sought
    setting = f"parallel.tensor={cards // beside}"
    return (
        replace(options, settings=(*options.settings, setting)),
        replace(sought, playbook=playbook.with_overrides((setting,))),
    )


def _where_asked(sought: Sought, front: tuple[str, int] | None) -> Sought:
    """At the address and port of the router that lives, whatever the command says: clients ask it there until it is stopped."""
    playbook = sought.playbook
    if front is None or front == (playbook.listen, playbook.port):
        return sought
    return replace(sought, playbook=playbook.with_overrides((f"listen={front[0]}", f"port={front[1]}")))


def _require_one_host(options: SharedOptions, playbook: Playbook) -> None:
    if options.as_one or playbook.parallel.nodes > 1:
        raise UsageError(
            "fleet_as_one",
            "a replica lies on one host: --as-one and parallel.nodes spread one model over several",
            **({"hosts": str(len(options.hosts))} if len(options.hosts) > 1 else {}),
        )


def _require_cards(playbook: Playbook) -> None:
    spread = any(playbook.origin("parallel", kind) != "default" for kind in ("tensor", "pipeline", "data"))
    if playbook.choose and not spread and playbook.needs.gpus != 0:
        raise UsageError("replica_cards", f"nobody says how many GPUs a replica of {playbook.name} gets")


def _standing(
    options: SharedOptions, fleet: str, shown: Display, stack: ExitStack, *, whichever: bool
) -> tuple[FleetStanding, dict[str, DeployError]]:
    """How the fleet stands, and the hosts that could not be looked at; raises for one of them, or where all are."""
    from orchestrator.base.events import Report
    from orchestrator.fleet.looking import look, standing
    from orchestrator.loop.side_by_side import side_by_side

    def tried(name: str) -> HostLook | DeployError:
        try:
            return looked(name)
        except HostError as error:
            if not whichever:
                raise
            return error

    def looked(name: str) -> HostLook:
        report = Report(shown, name)
        host = opened(options, name, report, stack)
        with report.wait("look at", "cards, links and replicas", limit=CONNECT_SECONDS):
            return look(host, fleet)

    names: Sequence[str] = tuple(dict.fromkeys(options.hosts))
    ends = side_by_side([partial(tried, name) for name in names], at_once=options.breadth.at_once)
    looks = dict(zip(names, ends, strict=True))
    absent = {name: each for name, each in looks.items() if isinstance(each, DeployError)}
    seen = [each for each in looks.values() if not isinstance(each, DeployError)]
    if not seen:
        raise next(iter(absent.values()))
    return standing(fleet, seen), absent


def opened(options: SharedOptions, name: str, report: Report, stack: ExitStack) -> Host:
    """A connection of its own to a host, closed with `stack`."""
    with report.wait("connect", f"to {name}", limit=CONNECT_SECONDS):
        return stack.enter_context(connected(options, name))
