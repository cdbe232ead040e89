"""What is a whole host in a box on this machine, and how does it go away without a trace?"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from orchestrator.base.data_folders import data_folders
from orchestrator.base.errors import UsageError
from orchestrator.engines import registry
from orchestrator.hosts import bootstrap, ship
from orchestrator.hosts.connect import open_host
from orchestrator.hosts.host import Host
from orchestrator.playbook import playbook as playbooks
from orchestrator.playbook.playbook import Playbook
from orchestrator.programs.stop import StopLaunch
from orchestrator.rehearsal import adapt, environment, faults, flagship, ports, shm_files, strays, tiny_mla
from orchestrator.rehearsal.commanded import Commanded, Pace
from orchestrator.rehearsal.environment import SYSTEM_PATH, StandIn
from orchestrator.rehearsal.hub import Hub
from orchestrator.rehearsal.ssh_server import ALIAS, SshServer
from orchestrator.rehearsal.stand_in import VERSION

PACES: dict[Pace, float] = {"default": 0.75, "fast": 0.01}
STOP_SECONDS = 60.0


class Box(Commanded):
    """A host with SSH, cards, an engine and a Hub of its own, and a playbook adapted to it; use it with `with`.

        with Box("kimi-k2.5") as box:
            left = box.deploy("up", "--no-predict")     # `deploy up kimi-k2.5 --host rehearsal ...`

    `playbook` is a name or a path, looked for in `folders` first. `fault` names a failure of `faults.yaml`. `checkpoint` is a folder
    to serve instead of the generated one. `engine_python` is the interpreter of a real vLLM that runs without cards; None: the
    stand-in. `alias` is what its ssh_config calls it. Of several hosts that serve one model together the first is made with a
    `meeting_port`, and the others `beside` it: they have its playbook and its Hub; the first of those of a fleet with as many ports as it has `replicas`. `engine_version` is what its stand-in says
    that it is. No HF_* and no proxy variable of the caller reaches the box. Raises UsageError("unknown_fault",
    "unknown_playbook", "invalid_playbook").
    """

    def __init__(
        self,
        playbook: str | Path = "kimi-k2.5",
        *,
        fault: str | None = None,
        pace: Pace = "default",
        checkpoint: Path | None = None,
        engine_python: str | None = None,
        folders: Sequence[Path] = (),
        alias: str = ALIAS,
        meeting_port: int | None = None,
        beside: Box | None = None,
        replicas: int = 0,
        engine_version: str = VERSION,
    ) -> None:
        if fault is not None:
            faults.require(fault, "one", str(playbook))
        if fault is not None and faults.load()[fault].where == "engine" and engine_python is not None:
            raise UsageError(
                "unknown_fault",
                f"{fault} is acted by the stand-in engine, not by a real vLLM",
                playbook=str(playbook),
                fault=fault,
            )
        self.written = playbooks.find(str(playbook), data_folders("playbooks", folders))
        self.fault = fault
        self.pace = pace
        self._checkpoint = checkpoint
        self._engine_python = engine_python
        self._alias = alias
        self._meeting_port = meeting_port
        self._beside = beside
        self._replicas = replicas
        self._engine_version = engine_version
        self.hub: Hub
        self.playbook: Playbook
        self.port: int
        self.closing = contextlib.ExitStack()
        """What is undone when the box closes, last first."""

    def __enter__(self) -> Box:
        with self.closing:
            self._build()
            self.closing = self.closing.pop_all()
        return self

    # What it consists of

    @property
    def home(self) -> Path:
        """The home folder on the host."""
        return self.folder / "home"

    @property
    def state(self) -> Path:
        """The deployment's state folder on the host."""
        return self.folder / "state" / "deploy" / self.playbook.name

    @property
    def checkpoint(self) -> Path:
        """The checkpoint's folder on the host."""
        return self.home / self.playbook.folder.removeprefix("~/")

    @property
    def repository(self) -> Path:
        """What the Hub serves as the playbook's repository."""
        assert self.playbook.model.repository is not None  # `adapt` names one
        return self.hub.repositories / self.playbook.model.repository

    @property
    def cards(self) -> Path:
        """Where processes note the memory that they hold on a card."""
        return self.folder / "cards"

    @property
    def real_engine(self) -> bool:
        """Whether the engine is a real vLLM."""
        return self._engine_python is not None

    @property
    def python(self) -> str:
        """The host's own `python3`."""
        return str(self.stand_in.folder / "tools" / "python3")

    @property
    def alias(self) -> str:
        """The host's name in `ssh_config`."""
        return self.server.alias

    @property
    def aliases(self) -> tuple[str, ...]:
        return (self.alias,)

    @property
    def asked(self) -> str:
        return self.playbook.name

    @property
    def head(self) -> Box:
        """The host that answers requests."""
        return self

    @property
    def ssh_config(self) -> str:
        return self.server.ssh_config

    @property
    def playbook_path(self) -> Path:
        return self.folder / "playbooks" / f"{self.playbook.name}.yaml"

    def open_host(self) -> Host:
        """Connect as `deploy` does."""
        return open_host(self.alias, ssh_config=self.ssh_config)

    def reach(self) -> list[str]:
        """The options that lead any `deploy` command to this host and its playbook."""
        return ["--host", self.alias, "-F", self.ssh_config, "--playbooks", str(self.playbook_path.parent)]

    def vanish(self) -> None:
        """Be gone as a host without power is: its SSH server, and all that ran on it."""
        self.server.close()
        strays.end(self.home)

    # Building and taking down

    def _build(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="deploy-rehearsal-")).resolve()
        self.closing.callback(shutil.rmtree, self.folder, ignore_errors=True)
        for name in ("home", "state", "cards", "tmp", "playbooks", "hub", "ssh"):
            (self.folder / name).mkdir()
        self._furnish()
        real = self._engine_python is not None
        cards = 0 if real else max(8, self.playbook.gpus)
        self.stand_in: StandIn = environment.make(
            self.home / adapt.ENVIRONMENT.removeprefix("~/"),
            version="" if real else self._engine_version,
            cards=cards,
        )
        self.environment = self._variables()
        self.closing.callback(shm_files.remove, self.home)
        self.closing.callback(strays.end, self.home)
        self.server = SshServer(self.folder / "ssh", self.environment, alias=self._alias)
        if self.fault is not None:
            faults.arrange(self, self.fault)
        self.server.environment = dict(self.environment)
        self.closing.enter_context(self.server)
        if (
            self.real_engine
        ):  # its processes write titles over their environment, where a stray's HOME is read
            self.closing.callback(self._end_launches)

    def _furnish(self) -> None:
        """Hub, port and playbook: its own, or those of the host beside which it is."""
        if self._beside is not None:
            self.hub, self.port, self.playbook = self._beside.hub, self._beside.port, self._beside.playbook
            return
        self.hub = self.closing.enter_context(Hub(self.folder / "hub"))
        self.port = self.closing.enter_context(ports.row(1 + self._replicas))
        self.playbook = self._adapted()
        self.playbook_path.write_text(adapt.as_file(self.playbook))
        self._fill_repository()

    def _adapted(self) -> Playbook:
        if self._engine_python is None:
            return adapt.for_stand_in(
                self.written,
                port=self.port,
                endpoint=self.hub.endpoint,
                meeting_port=self._meeting_port,
                replica=self._replicas > 0,
            )
        return adapt.for_cpu(
            self.written, port=self.port, endpoint=self.hub.endpoint, python=self._engine_python
        )

    def _fill_repository(self) -> None:
        if self._checkpoint is not None:
            shutil.copytree(self._checkpoint, self.repository)
        elif self._engine_python is not None:
            tiny_mla.make(self.repository)
        else:
            flagship.make(self.repository)

    def _variables(self) -> dict[str, str]:
        """Everything that programs on the host see."""
        user = getpass.getuser()
        return {
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "TMPDIR": str(self.folder / "tmp"),
            "PATH": os.pathsep.join((str(self.stand_in.folder / "tools"), *SYSTEM_PATH)),
            "USER": user,
            "LOGNAME": user,
            "SHELL": "/bin/sh",
            "LANG": "C.UTF-8",
            "STAND_IN_CARDS": str(self.cards),
            "STAND_IN_PACE": str(PACES[self.pace]),
        }

    def _end_launches(self) -> None:
        """`deploy stop` for all that was launched here: its processes and its shared memory go."""
        for room in sorted((self.folder / "state" / "deploy").glob("*/launches")):
            self._end_launch(room.parent.name)

    def _end_launch(self, instance: str) -> None:
        request = StopLaunch(
            instance=instance,
            grace_seconds=1.0,
            kill_seconds=10.0,
            footprint=registry.get(registry.USUAL).footprint,
            wait_gpu_seconds=0,
            by_person=True,
        )
        subprocess.run(
            bootstrap.interpreter(self.python),
            input=ship.bundle(request.program, request.plain(), deadline=STOP_SECONDS),
            env=self.environment,
            capture_output=True,
            timeout=STOP_SECONDS + 10.0,
            check=False,
        )
