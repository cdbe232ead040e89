"""What does ssh_config say about a host?

Where OpenSSH is installed it is asked (`ssh -G`), so that Include, Match and tokens mean what they mean
to ssh; elsewhere paramiko reads the files (it knows no Include).
"""

from __future__ import annotations

import getpass
import io
import os
import re
import shlex
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.base.errors import UsageError
from orchestrator.hosts.target import Target

_DEFAULT_KEYS = ("~/.ssh/id_rsa", "~/.ssh/id_ecdsa", "~/.ssh/id_ed25519")
_DEFAULT_USER_FILES = "~/.ssh/known_hosts ~/.ssh/known_hosts2"
_DEFAULT_GLOBAL_FILES = "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"
_YES = frozenset({"yes", "true"})
ASKING_SECONDS = 15.0  # seconds: `Match exec` in ssh_config runs programs


@dataclass(frozen=True)
class Resolved:
    """One host as ssh would reach it. Times in seconds; paths are absolute."""

    hostname: str
    port: int
    user: str
    identity_files: tuple[str, ...] = ()
    certificate_files: tuple[str, ...] = ()
    identities_only: bool = False
    identity_agent: str | None = None
    """The agent's socket, None where no agent shall be asked."""
    proxy_jump: tuple[str, ...] = ()
    proxy_command: str | None = None
    user_known_hosts: tuple[str, ...] = ()
    global_known_hosts: tuple[str, ...] = ()
    host_key_alias: str | None = None
    hash_known_hosts: bool = False
    strict_host_key_checking: str = "ask"
    """`yes`, `ask`, `accept-new` or `no`."""
    connect_timeout: float | None = None
    server_alive_interval: int = 0

    @property
    def key_name(self) -> str:
        """The name under which known_hosts has this host."""
        if self.host_key_alias:
            return self.host_key_alias
        return self.hostname if self.port == 22 else f"[{self.hostname}]:{self.port}"


SshOptions = Mapping[str, list[str]]
"""Values by lower-case option name, in the order of the file."""


def resolve(target: Target, ssh_config: str | None = None) -> Resolved:
    """Resolve a target with the person's configuration, or only the file `ssh_config`.

    Raises UsageError("ssh_config") where the configuration cannot be read.
    """
    ssh = shutil.which("ssh")
    options = _ask_ssh(ssh, target, ssh_config) if ssh else _ask_paramiko(target, ssh_config)
    return from_options(options, target, os.environ)


def ssh_command(ssh: str, target: Target, ssh_config: str | None) -> list[str]:
    """The command that prints how ssh would reach the target, without connecting."""
    command = [ssh, "-G"]
    if ssh_config is not None:
        command += ["-F", ssh_config]
    if target.user is not None:
        command += ["-l", target.user]
    if target.port is not None:
        command += ["-p", str(target.port)]
    return [*command, "--", target.host]


def read_options(text: str) -> dict[str, list[str]]:
    """The output of `ssh -G`: one option a line, repeated where it has several values."""
    options: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, _, value = line.strip().partition(" ")
        if name:
            options.setdefault(name.lower(), []).append(value)
    return options


def from_options(options: SshOptions, target: Target, environment: Mapping[str, str]) -> Resolved:
    """The settings that matter here, with ssh's defaults, tokens and `~` expanded."""

    def first(name: str, default: str = "") -> str:
        return options.get(name, [default])[0]

    hostname = first("hostname", target.host)
    user = first("user") or target.user or getpass.getuser()
    port = int(first("port") or target.port or 22)
    home = environment.get("HOME") or str(Path.home())
    alias = _unless_none(first("hostkeyalias"))
    named = {"h": hostname, "k": alias or target.host, "n": target.host, "p": str(port), "r": user}
    tokens = {**_tokens_here(home), **named}

    def path(text: str) -> str:
        return _expand(text, tokens, environment, home)

    def paths(texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(path(text.strip('"')) for text in texts if _unless_none(text))

    command = _unless_none(first("proxycommand"))
    jump = _unless_none(first("proxyjump"))
    timeout = first("connecttimeout", "none")
    return Resolved(
        hostname=hostname,
        port=port,
        user=user,
        identity_files=paths(options.get("identityfile", _DEFAULT_KEYS)),
        certificate_files=paths(options.get("certificatefile", ())),
        identities_only=first("identitiesonly") in _YES,
        identity_agent=_agent(first("identityagent", "SSH_AUTH_SOCK"), environment, path),
        proxy_jump=tuple(hop.strip() for hop in jump.split(",")) if jump else (),
        proxy_command=_replace_tokens(command, tokens) if command else None,
        user_known_hosts=paths(first("userknownhostsfile", _DEFAULT_USER_FILES).split()),
        global_known_hosts=paths(first("globalknownhostsfile", _DEFAULT_GLOBAL_FILES).split()),
        host_key_alias=alias.lower() if alias else None,
        hash_known_hosts=first("hashknownhosts") in _YES,
        strict_host_key_checking=_strictness(first("stricthostkeychecking", "ask")),
        connect_timeout=float(timeout) if timeout.isdigit() and int(timeout) else None,
        server_alive_interval=int(first("serveraliveinterval", "0") or 0),
    )


def _tokens_here(home: str) -> dict[str, str]:
    """What ssh's tokens stand for that are of this machine and its user."""
    local = socket.gethostname()
    return {
        "%": "%",
        "d": home,
        "i": str(os.getuid()),
        "L": local.partition(".")[0],
        "l": local,
        "u": getpass.getuser(),
    }


def _strictness(word: str) -> str:
    return {"true": "yes", "false": "no", "off": "no"}.get(word, word)


def _unless_none(text: str) -> str | None:
    return None if text.lower() in ("", "none") else text


def _agent(setting: str, environment: Mapping[str, str], path: Callable[[str], str]) -> str | None:
    if setting.lower() == "none":
        return None
    if setting == "SSH_AUTH_SOCK":
        return environment.get("SSH_AUTH_SOCK") or None
    if re.fullmatch(r"\$[A-Za-z_]\w*", setting):
        return environment.get(setting[1:]) or None
    return path(setting)


def _expand(text: str, tokens: Mapping[str, str], environment: Mapping[str, str], home: str) -> str:
    text = re.sub(r"\$\{(\w+)\}", lambda match: environment.get(match[1], ""), text)
    text = _replace_tokens(text, tokens)
    if text == "~" or text.startswith("~/"):
        return home + text[1:]
    try:
        return str(Path(text).expanduser()) if text.startswith("~") else text
    except RuntimeError:  # ~NAME of nobody here
        return text


def _replace_tokens(text: str, tokens: Mapping[str, str]) -> str:
    return re.sub(r"%(.)", lambda match: tokens.get(match[1], match[0]), text)


def _ask_ssh(ssh: str, target: Target, ssh_config: str | None) -> SshOptions:
    command = ssh_command(ssh, target, ssh_config)
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=ASKING_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise _broken(target, f"ssh -G did not answer within {ASKING_SECONDS:g} s") from None
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip() or f"ssh -G ended with {done.returncode}"
        raise _broken(target, reason.splitlines()[-1])
    return read_options(done.stdout.decode("utf-8", "surrogateescape"))


def _ask_paramiko(target: Target, ssh_config: str | None) -> SshOptions:
    from paramiko import SSHConfig
    from paramiko.ssh_exception import ConfigParseError

    files = [Path("~/.ssh/config").expanduser(), Path("/etc/ssh/ssh_config")]
    config = SSHConfig()
    typed = [f"User {target.user}"] if target.user else []
    typed += [f"Port {target.port}"] if target.port else []
    config.parse(io.StringIO("\n".join(["Host *", *typed, ""])))  # the first value wins, as on a command line
    try:
        for file in [Path(ssh_config)] if ssh_config is not None else files:
            if ssh_config is not None or file.is_file():
                with file.open() as lines:
                    config.parse(lines)
        settings = config.lookup(target.host)
    except (ConfigParseError, OSError) as error:
        raise _broken(target, str(error)) from None
    return {name: value if isinstance(value, list) else [value] for name, value in settings.items()}


def _broken(target: Target, reason: str) -> UsageError:
    return UsageError(
        "ssh_config",
        f"The SSH configuration for {target.text} cannot be read: {reason}.",
        next_command=f"ssh -G {shlex.quote(target.text)}",
    )
