"""How are many hosts resolved without a process of ssh for each?

ssh is asked for the first two. Where its files are plain, it reads the very files that were read here, and both answers
come out of them as well, all others are resolved by them; in any other case ssh is asked for each.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.base.errors import UsageError
from orchestrator.hosts import config, plain_config
from orchestrator.hosts.config import Resolved, SshOptions
from orchestrator.hosts.plain_config import NotPlain, PlainConfig
from orchestrator.hosts.target import Target

_SAMPLES = 2
_NOBODY = Target("localhost", None, "localhost", None)
_NO_FILE = "none"
"""What `ssh -F` takes for no file at all."""
_READS = re.compile(r"^debug1: Reading configuration data (.+?)\r?$", re.MULTILINE)


def resolve(target: Target, ssh_config: str | None = None) -> Resolved:
    """As `config.resolve` does it, by far faster from the third host of a process on."""
    return _resolver(ssh_config, _written(ssh_config)).resolve(target)


@functools.lru_cache(maxsize=4)
def _resolver(ssh_config: str | None, written: int) -> Resolver:
    del written  # a file that was changed meanwhile is read again
    return Resolver(ssh_config)


def _written(ssh_config: str | None) -> int:
    try:
        return Path(ssh_config or "~/.ssh/config").expanduser().stat().st_mtime_ns
    except (OSError, RuntimeError):
        return 0


class Resolver:
    """Resolves by the person's configuration, or only the file `ssh_config`."""

    def __init__(self, ssh_config: str | None) -> None:
        self._ssh_config = ssh_config
        self._samples: dict[Target, Resolved] = {}
        self._known: _Known | None = None
        self._proven = False
        self._turn = threading.Lock()

    def resolve(self, target: Target) -> Resolved:
        with self._turn:
            if len(self._samples) < _SAMPLES:
                self._samples[target] = config.resolve(target, self._ssh_config)
                return self._samples[target]
            if not self._proven:
                self._known = _known(self._ssh_config, self._samples)
                self._proven = True
        try:
            return self._known.resolved(target) if self._known else config.resolve(target, self._ssh_config)
        except NotPlain:
            return config.resolve(target, self._ssh_config)


@dataclass(frozen=True)
class _Known:
    """What the files set, and what ssh takes where they set nothing."""

    files: PlainConfig
    otherwise: SshOptions

    def resolved(self, target: Target) -> Resolved:
        """Raises NotPlain."""
        typed = {"user": target.user, "port": str(target.port) if target.port else None}
        options: Mapping[str, list[str]] = {
            **self.otherwise,
            "hostname": [target.host],
            **self.files.of(target.host),
            **{name: [value] for name, value in typed.items() if value},
        }
        return config.from_options(options, target, os.environ)


def _known(ssh_config: str | None, samples: Mapping[Target, Resolved]) -> _Known | None:
    """None where ssh must be asked."""
    ssh = shutil.which("ssh")
    if ssh is None:
        return None
    try:
        files = plain_config.read(ssh_config)
        otherwise, _ = _ask(ssh, _NO_FILE)
        _, read = _ask(ssh, ssh_config)
        known = _Known(files, otherwise)
        same = all(known.resolved(target) == resolved for target, resolved in samples.items())
    except (NotPlain, UsageError, OSError, subprocess.SubprocessError):
        return None
    return known if same and read == files.files else None


def _ask(ssh: str, ssh_config: str | None) -> tuple[SshOptions, tuple[str, ...]]:
    """What holds for nobody in particular, and which files that was read from."""
    ask, *rest = config.ssh_command(ssh, _NOBODY, ssh_config)
    done = subprocess.run(
        [ask, "-v", *rest],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=config.ASKING_SECONDS,
        check=True,
    )
    text, log = (part.decode("utf-8", "surrogateescape") for part in (done.stdout, done.stderr))
    return config.read_options(text), tuple(_READS.findall(log))
