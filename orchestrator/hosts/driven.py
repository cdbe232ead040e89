"""What do a remote and a local host have in common: shell, runner of programs and streams, all over pipes?"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from orchestrator.base.errors import HostError
from orchestrator.hosts import bootstrap, ship
from orchestrator.hosts.answers import Program, last_answer, no_answer
from orchestrator.hosts.host import Completed, Host, ScriptStream, Stream
from orchestrator.hosts.pipes import Pipes, deadline_passed, moment
from orchestrator.hosts.quoting import program
from orchestrator.hosts.runner import Runner
from orchestrator.hosts.shell import Shell, brief
from orchestrator.hosts.streams import AnswerStream, ByteStream, Channel

# A program ends itself at its deadline (SIGALRM) and says so; only a host that no longer answers is waited
# for this much longer. Seconds.
GRACE = 3.0
NO_PYTHON = ("host_python_missing", "host_python_old")


class DrivenHost(Host):
    """A host of which only one thing is left open: how to start `/bin/sh`."""

    def __init__(self, name: str, python: str) -> None:
        self.name = name
        self.address = name
        self.python = python
        self.other_python: str | None = None
        self._shell: Shell | None = None
        self._turn = threading.Lock()
        self._runner: Runner | None = None
        self._running = threading.Lock()

    @abstractmethod
    def open_shell(self) -> Pipes:
        """A `/bin/sh` that reads commands from its standard input."""

    @abstractmethod
    def open_program(self, command: str) -> Pipes:
        """A `/bin/sh` that runs this sh text; standard input is the caller's."""

    def run(self, command: str, *, deadline: float = 30.0) -> Completed:
        return self._in_shell(command, deadline, brief(command))

    def script(
        self,
        module: str,
        request: Mapping[str, Any],
        *,
        deadline: float = 30.0,
        private: bool = False,
        installed_beside: str | None = None,
    ) -> Any:
        try:
            return self._script(module, request, deadline, private, installed_beside)
        except HostError as error:
            if error.code not in NO_PYTHON or installed_beside or not self.other_python:
                raise
        # Nothing of the program has run, so it may be started by the other interpreter.
        self.python, self.other_python = self.other_python, None
        return self._script(module, request, deadline, private, None)

    def _script(
        self,
        module: str,
        request: Mapping[str, Any],
        deadline: float,
        private: bool,
        installed_beside: str | None,
    ) -> Any:
        about = Program(self.name, module, installed_beside or self.python)
        if private or installed_beside:
            bundle = ship.bundle(module, request, deadline=deadline)
            done = self._alone(self._interpreter(installed_beside), bundle, deadline, module)
        else:
            done = self._in_runner(module, request, deadline)
        answer = last_answer(about, done.stdout.split(b"\n"))
        if answer is None:
            raise no_answer(about, done.rc, done.stderr, deadline)
        return answer.value

    def stream_script(self, module: str, request: Mapping[str, Any]) -> ScriptStream:
        channel = Channel(self.open_program, self._interpreter(None))
        channel.write(ship.bundle(module, request, deadline=None))
        return AnswerStream(channel, Program(self.name, module, self.python))

    def stream(self, argv: Sequence[str]) -> Stream:
        return ByteStream(Channel(self.open_program, program(argv)))

    def close(self) -> None:
        """Waits for a command that is running in the shell only as long as its pipes live."""
        shell, self._shell = self._shell, None
        runner, self._runner = self._runner, None
        for session in (shell, runner):
            if session is not None:
                session.close()

    def _interpreter(self, installed_beside: str | None) -> str:
        python = installed_beside or self.python
        return program(bootstrap.interpreter(python, site_packages=installed_beside is not None))

    def _in_runner(self, module: str, request: Mapping[str, Any], deadline: float) -> Completed:
        until = moment(deadline + GRACE)
        with self._one_at_a_time(self._running, deadline, module):
            if self._runner is not None and self._runner.python != self.python:
                self._runner.close()
                self._runner = None
            if self._runner is None:
                command = bootstrap.interpreter(self.python, program=bootstrap.RUNNER)
                self._runner = Runner(self.name, self.python, self.open_program(program(command)))
            runner = self._runner
            try:
                return runner.run(module, request, deadline=deadline, until=until)
            except BaseException:
                runner.ended = True
                raise
            finally:
                if runner.ended:
                    self._runner = None
                    runner.discard()

    def _in_shell(self, command: str, deadline: float, subject: str) -> Completed:
        until = moment(deadline)
        with self._one_at_a_time(self._turn, deadline, subject):
            if self._shell is None:
                self._shell = Shell(self.name, self.open_shell())
            shell = self._shell
            try:
                return shell.run(command, deadline=deadline, until=until, subject=subject)
            except (
                BaseException
            ):  # also an interrupt: the rest of the answer would be taken for the next one's
                self._shell = None
                shell.discard()
                raise

    @contextmanager
    def _one_at_a_time(self, turn: threading.Lock, deadline: float, subject: str) -> Iterator[None]:
        if not turn.acquire(timeout=deadline):
            raise deadline_passed(self.name, deadline, subject)
        try:
            yield
        finally:
            turn.release()

    def _alone(self, command: str, data: bytes, deadline: float, subject: str) -> Completed:
        until = moment(deadline + GRACE)
        channel = Channel(self.open_program, command)
        try:
            channel.write(data, until)
            channel.end_input()
            stdout = b"".join(channel.chunks(until))
            return Completed(channel.status(until), stdout, channel.stderr)
        except TimeoutError:
            channel.discard()
            raise deadline_passed(self.name, deadline, subject) from None
        finally:
            channel.close()
