"""Which hosts does `--hosts` mean: a group, a file, or a list?"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from orchestrator.base.data_folders import config_folder
from orchestrator.base.errors import UsageError
from orchestrator.base.near_file import near_file
from orchestrator.hosts.ranges import MOST, expanded, split
from orchestrator.hosts.target import parse_target
from orchestrator.on_host.files import regular_file
from orchestrator.on_host.secrets.secrets import brief

CONFIG = "config.yaml"
LARGEST_BYTES = 1 << 20
YAML = (".yaml", ".yml")


def listed(text: str) -> tuple[str, ...]:
    """The hosts, in their order, each once: those of the group of this name in the person's config.yaml, or of this
    file (`-` is standard input), or of a list such as `gpu[01-16],gpu20`.

    A file has a host or range a line, and comments behind a #; one that ends in .yaml has groups, and all of them are meant.
    Raises UsageError: `hosts_file`, `unknown_hosts`, `host_name`.
    """
    hosts = tuple(dict.fromkeys(_listed(text)))
    if not hosts:
        raise UsageError("hosts_file", f"--hosts {brief(text, 60)}: it names no host")
    if len(hosts) > MOST:
        raise UsageError(
            "hosts_file", f"--hosts {brief(text, 60)}: it names {len(hosts)} hosts; allowed: at most {MOST}"
        )
    for host in hosts:
        parse_target(host)
    return hosts


def group_names() -> tuple[str, ...]:
    """The groups of the person's config.yaml, in its order."""
    config = _config()
    if config is None:
        return ()
    from orchestrator.hosts.groups import read

    return tuple(read(config))


def _listed(text: str) -> Iterator[str]:
    names = group_names()
    config, file = _config(), Path(text)
    if config is not None and text in names:
        yield from _members(config, text)
    elif text == "-":
        yield from _lines("standard input", sys.stdin.read(LARGEST_BYTES))
    elif file.is_file() and file.suffix in YAML:
        yield from _members(file)
    elif file.exists():
        yield from _lines(text, _text(file))
    elif any(sign in text for sign in ",[{"):
        for item in split(text):
            yield from expanded(item)
    else:
        raise _unknown(text, names)


def _members(file: Path, *names: str) -> Iterator[str]:
    from orchestrator.hosts.groups import members, read

    groups = read(file)
    for name in names or groups:
        yield from members(groups, name)


def _lines(name: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) > 1 or words[0].startswith("["):
            raise UsageError(
                "hosts_file",
                f"{name}:{number}: {brief(line.strip(), 60)!r} is no host; allowed: one a line (ssh_config says the rest of it), "
                f"or a file that ends in .yaml with hosts: {{GROUP: [HOST, ...]}}",
            )
        try:
            yield from expanded(words[0])
            parse_target(expanded(words[0])[0])
        except UsageError as error:
            error.message = f"{name}:{number}: {error.message}"
            raise


def _text(file: Path) -> str:
    try:
        return regular_file.read(file, LARGEST_BYTES).decode("utf-8")
    except regular_file.Unfit as error:
        raise UsageError("hosts_file", f"{file}: {error}") from None
    except UnicodeDecodeError as error:
        raise UsageError("hosts_file", f"{file}: is not UTF-8 text (byte {error.start})") from None


def _config() -> Path | None:
    folder = config_folder()
    config = folder / CONFIG if folder else None
    return config if config is not None and config.exists() else None


def _unknown(text: str, names: tuple[str, ...]) -> UsageError:
    """With a file or group of nearly this name, or for a path the folder in which it was looked for."""
    near, file = get_close_matches(text, names, n=1), Path(text)
    if not near and (beside := near_file(file)):
        near = [beside]
    look = f"ls {shlex.quote(str(file.parent))}" if "/" in text or file.suffix else None
    groups = f"groups there: {', '.join(names)}" if names else "no group is there"
    return UsageError(
        "unknown_hosts",
        f"--hosts {brief(text, 60)!r} is no file, and no group of {config_folder() or '~/.config/deploy'}/{CONFIG} ({groups})",
        next_command=None if near else look,
        **({"near": near[0]} if near else {}),
    )
