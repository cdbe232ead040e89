"""What stands for a host that is only planned for?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from orchestrator.base.errors import HostError
from orchestrator.hosts.host import Completed, Host, ScriptStream, Stream


class AbsentHost(Host):
    """It has a name; whoever asks it anything meets HostError("no_host")."""

    def __init__(self, name: str) -> None:
        self.name = self.address = name
        self.python, self.other_python = "python3", None

    def run(self, command: str, *, deadline: float = 30.0) -> Completed:
        self._refuse()

    def script(
        self,
        module: str,
        request: Mapping[str, Any],
        *,
        deadline: float = 30.0,
        private: bool = False,
        installed_beside: str | None = None,
    ) -> Any:
        self._refuse()

    def stream_script(self, module: str, request: Mapping[str, Any]) -> ScriptStream:
        self._refuse()

    def stream(self, argv: Sequence[str]) -> Stream:
        self._refuse()

    def close(self) -> None:
        return

    def _refuse(self) -> NoReturn:
        raise HostError("no_host", f"{self.name} is planned for, and no host that can be asked")
