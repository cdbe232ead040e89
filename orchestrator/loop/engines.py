"""What do the verbs come to that concern the engines of a host, whoever deploys there?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orchestrator.base.amounts import decimal, duration
from orchestrator.base.errors import Locked, PreflightRefused, UsageError
from orchestrator.base.events import Report
from orchestrator.hosts.host import Host
from orchestrator.install import follow
from orchestrator.install.installation import Installation
from orchestrator.plan.installing import CONSENT
from orchestrator.programs.ask import ask
from orchestrator.programs.remove_engine import RemoveEngine
from orchestrator.report.engines import user
from orchestrator.report.plan_text import wrap
from orchestrator.survey.engines import SECONDS, EngineOnHost, EnginesOnHost, look

USED = "remove-used-engine"
REMOVAL_SECONDS = 1200.0
"""A hundred thousand files, maybe on a slow disk."""


@dataclass(frozen=True)
class Engines:
    """The engines of one host. `consents` were given, `ask` puts a question to a person (None: nobody can be asked);
    `command` gives the command line by which a verb is asked for an engine here."""

    host: Host
    report: Report
    command: Callable[[str], str]
    consents: tuple[str, ...] = ()
    ask: Callable[[str], bool] | None = None

    def look(self) -> EnginesOnHost:
        """All that are there; reads only."""
        with self.report.wait("look at", "the engines and who uses them", limit=2 * SECONDS):
            return look(self.host)

    def install(self, asked: Installation, *, dry_run: bool) -> None:
        """Make the environment, or check the one that is there; raises what keeps it from that."""
        there = self.look()
        installation = asked.without_gpus() if there.without_gpus else asked
        pinned = installation.pinned
        if pinned != asked.pinned:
            self.report.emit(
                "note", f"{self.host.name} has no GPU: {pinned} is {asked.pinned} for such a host"
            )
        present = there.ours(pinned)
        if present is None or present.state != "whole":
            self._tell(installation, there)
            why = f"{pinned} into {pinned.folder}"
            self._have(CONSENT, why, only_told=dry_run)
        if dry_run:
            return
        done = follow.install(self.host, self.report, installation)
        took = f"{duration(self.report.seconds)} in all" if done.made else "nothing to do"
        lines = [
            f"installed  {pinned}   {took}",
            f"  use     --set engine.install={pinned}",
            f"  remove  {self.command(f'remove {pinned}')}",
        ]
        self.report.emit("result", "\n".join(lines), engine=str(pinned), changed=done.made)

    def remove(self, asked: Installation, *, dry_run: bool) -> None:
        """Take it away; raises what keeps it from that: what lives is not ours to end here."""
        engine = self._meant(asked)
        users = ", ".join(map(user, engine.used_by))
        self._tell_removal(engine, users)
        self._require_at_rest(engine)
        if users:
            self._have(USED, f"{engine.pin} is used by {users}", only_told=dry_run)
        if dry_run:
            return
        with self.report.step("remove", engine.folder) as step:
            request = RemoveEngine(engine=engine.engine, version=engine.version, used=bool(users))
            answer = ask(self.host, request, deadline=REMOVAL_SECONDS)
            step.done = f"{engine.pin}, {decimal(answer.freed_bytes)} more are free"
        self.report.emit(
            "result", f"removed  {engine.pin}", engine=engine.pin, changed=True, **answer.as_json()
        )

    def _meant(self, asked: Installation) -> EngineOnHost:
        """The engine of our own by that name; raises UsageError("no_such_engine") with those that there are."""
        there = self.look()
        engine = there.ours(asked.pinned)
        if engine is None and there.without_gpus:
            engine = there.ours(asked.without_gpus().pinned)
        if engine is None:
            known = ", ".join(other.pin for other in there.engines if other.ours)
            message = f"{self.host.name} has no {asked.pinned} of our own; it has {known or 'none'}"
            raise UsageError("no_such_engine", message, next_command=self.command("list"))
        return engine

    def _tell_removal(self, engine: EngineOnHost, users: str) -> None:
        size = "" if engine.bytes is None else f", {decimal(engine.bytes)}"
        lines = [f"{engine.pin} on {self.host.name}", *wrap("  remove     ", f"{engine.folder}{size}")]
        lines += wrap("  used by    ", users or "no deployment")
        self.report.emit(
            "plan",
            "\n".join([*lines, ""]),
            engine=engine.pin,
            bytes=engine.bytes,
            steps=[{"name": "remove", "effects": [f"take away {engine.pin}"], "files": [engine.folder]}],
            used_by=engine.as_json()["used_by"],
        )

    def _require_at_rest(self, engine: EngineOnHost) -> None:
        """Raise where somebody makes it now, or a launch that was started by it lives."""
        host = self.host.name
        if engine.state == "making":
            again = self.command(f"install {engine.pin}")
            raise Locked("engine_busy", f"{host}: {engine.pin} is being installed now", next_command=again)
        for use in engine.used_by:
            if use.alive:
                message = f"{host}: launch {use.launch} of {use.deployment} runs by {engine.pin}"
                raise PreflightRefused("engine_in_use", message, next_command=self.command("list"))

    def _tell(self, installation: Installation, there: EnginesOnHost) -> None:
        """The plan, and whether the room for it will likely do."""
        lines = [f"{installation.pinned} on {self.host.name}"]
        for words in installation.words:
            lines += wrap("  install    ", words)
        for index in installation.indexes:
            lines += wrap("  index      ", index)
        lines += wrap("  disk       ", f"{decimal(there.free_bytes)} free")
        step: dict[str, Any] = {
            "name": "install",
            "effects": list(installation.words),
            "files": [installation.pinned.folder],
        }
        lacking = [] if CONSENT in self.consents else [CONSENT]
        self.report.emit(
            "plan",
            "\n".join([*lines, ""]),
            engine=str(installation.pinned),
            free_bytes=there.free_bytes,
            likely_bytes=installation.likely_bytes,
            steps=[step],
            missing_consents=lacking,
        )
        if installation.likely_bytes and installation.likely_bytes > there.free_bytes:
            need = f"{decimal(installation.likely_bytes)} are likely needed"
            self.report.emit("warning", f"{need}, {decimal(there.free_bytes)} are free in {there.folder}")

    def _have(self, consent: str, why: str, *, only_told: bool) -> None:
        """Have the consent, by the person who is asked for it where one can be; `only_told`: nobody is asked now."""
        if consent in self.consents:
            return
        need = f"{self.host.name}: this needs the consent {consent} ({why})"
        if self.ask is None or not (only_told or self.ask(f"{need}. Give it?")):
            raise PreflightRefused("consent_missing", need, consent=consent)
