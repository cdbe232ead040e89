"""Which options do ssh's files set for a host, where they are plain enough to tell that without ssh?

`ssh -G` takes a process for each host. Plain is what has one reading: `Host`, `Include` and options whose value is one
word as it stands. Anything else (Match, quotes, canonical names, a value that ssh would expand or check) leaves the
answer to ssh.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import pwd
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.on_host.files import regular_file

_LARGEST_BYTES = 4 << 20
_DEEPEST = 16  # files that include each other
_NAME = re.compile(r"[a-z0-9._-]+")
_PATTERN = re.compile(r"!?[a-z0-9._*?-]+")
_LINE = re.compile(r"""\s*(?P<keyword>[A-Za-z0-9]+)(?:\s*=\s*|\s+)(?P<value>[^\s#"'\\=][^#"'\\]*)""")
_WORD = r"[A-Za-z0-9._:/~@-]+"
_FLAG = "yes|no|true|false"
_SECONDS = "[0-9]{1,6}"
_VALUES: Mapping[str, str] = {
    "hostname": "[a-z0-9._:-]+",
    "port": "[1-9][0-9]{0,4}",
    "user": "[A-Za-z0-9._-]+",
    "identityfile": r"[A-Za-z0-9._:/~@%+,-]+",
    "certificatefile": r"[A-Za-z0-9._:/~@%+,-]+",
    "identitiesonly": _FLAG,
    "identityagent": rf"{_WORD}|\$[A-Za-z_][A-Za-z0-9_]*",
    "proxyjump": r"[a-z0-9._@:,-]+",
    "proxycommand": "none",
    "userknownhostsfile": rf"{_WORD}(?: +{_WORD})*",
    "globalknownhostsfile": rf"{_WORD}(?: +{_WORD})*",
    "hostkeyalias": "[A-Za-z0-9._-]+",
    "hashknownhosts": _FLAG,
    "stricthostkeychecking": f"{_FLAG}|ask|off|accept-new",
    "connecttimeout": _SECONDS,
    "serveraliveinterval": _SECONDS,
}
"""The options that matter here, and what their values look like where there is nothing to know about them."""
_SEVERAL = ("identityfile", "certificatefile")
_OTHERWISE = (
    "match", "canonicalizehostname", "tag", "versionaddendum",
    "identityfile2", "protocolkeepalives", "batchmode",
)  # fmt: skip
"""Options by which the others could mean something else, old names of them, and what changes their defaults."""


class NotPlain(Exception):
    """Only ssh can tell."""


@dataclass(frozen=True)
class _Set:
    """An option, and where it holds: for hosts that fit each of these `Host` lines."""

    within: tuple[tuple[str, ...], ...]
    keyword: str
    value: str


@dataclass(frozen=True)
class PlainConfig:
    """The options of all files."""

    options: tuple[_Set, ...]
    """In their order: the first value counts."""
    files: tuple[str, ...]
    """Which were read, in the order in which ssh reads them."""

    def of(self, host: str) -> dict[str, list[str]]:
        """What is set for a host, as `ssh -G` has it; what is not set is left out. Raises NotPlain."""
        if not _NAME.fullmatch(host):
            raise NotPlain(host)
        settings: dict[str, list[str]] = {}
        for option in self.options:
            if not all(_fits(host, line) for line in option.within):
                continue
            values = settings.setdefault(option.keyword, [])
            if option.keyword in _SEVERAL and option.value in values:
                raise NotPlain(option.value)
            if option.keyword in _SEVERAL or not values:
                values.append(option.value)
        if "proxyjump" in settings and "proxycommand" in settings:
            raise NotPlain("the first of both counts")
        return settings


def read(ssh_config: str | None) -> PlainConfig:
    """The person's own file and the machine's, or only the file `ssh_config`. Raises NotPlain."""
    try:
        home = pwd.getpwuid(os.getuid()).pw_dir  # ssh does not ask HOME
    except KeyError as why:
        raise NotPlain(str(why)) from None
    own, machines = f"{home}/.ssh", "/etc/ssh"
    reading = _Reading(home)
    if ssh_config is not None:
        options = [*reading.read(ssh_config, own, (), 0)]
    else:
        places = ((f"{own}/config", own), (f"{machines}/ssh_config", machines))
        options = [
            option
            for file, folder in places
            if Path(file).exists()
            for option in reading.read(file, folder, (), 0)
        ]
    return PlainConfig(tuple(options), tuple(reading.files))


class _Reading:
    """One pass through the files."""

    def __init__(self, home: str) -> None:
        self._home = home
        self.files: list[str] = []

    def read(self, file: str, folder: str, outer: tuple[tuple[str, ...], ...], depth: int) -> Iterator[_Set]:
        """The options of a file; one that is included holds what stands around its line, and ends with itself."""
        within = outer
        self.files.append(file)
        for keyword, value in _lines(file):
            if keyword == "host":
                within = (*outer, _patterns(value))
            elif keyword == "include":
                if depth == _DEEPEST:
                    raise NotPlain("files that include each other")
                for name in value.split():
                    for included in self._named(name, folder):
                        yield from self.read(included, folder, within, depth + 1)
            elif keyword in _OTHERWISE:
                raise NotPlain(keyword)
            elif keyword in _VALUES:
                if not re.fullmatch(_VALUES[keyword], value):
                    raise NotPlain(f"{keyword} {value}")
                yield _Set(within, keyword, value)

    def _named(self, name: str, folder: str) -> list[str]:
        if not re.fullmatch(r"(?:~/)?[A-Za-z0-9._/*?-]+", name):
            raise NotPlain(name)
        place = Path(self._home, name[2:]) if name.startswith("~/") else Path(folder, name)
        return sorted(glob.glob(str(place)))  # noqa: PTH207 - a Path's glob takes hidden files too, ssh's does not


def _lines(file: str) -> Iterator[tuple[str, str]]:
    try:
        text = regular_file.read(file, _LARGEST_BYTES).decode("ascii")
    except (regular_file.Unfit, UnicodeDecodeError) as why:
        raise NotPlain(str(why)) from None
    for line in text.split("\n"):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        parts = _LINE.fullmatch(line)
        keyword = line.split()[0].lower()
        if parts is not None:
            yield parts["keyword"].lower(), parts["value"].rstrip()
        elif keyword in _VALUES or keyword in ("host", "include", *_OTHERWISE) or not keyword.isalnum():
            raise NotPlain(line)


def _patterns(value: str) -> tuple[str, ...]:
    patterns = tuple(value.split())
    if not all(map(_PATTERN.fullmatch, patterns)):
        raise NotPlain(value)
    return patterns


def _fits(host: str, patterns: Sequence[str]) -> bool:
    """As ssh has it: one that fits behind `!` forbids what any other allows."""
    fit = [pattern for pattern in patterns if fnmatch.fnmatchcase(host, pattern.removeprefix("!"))]
    return bool(fit) and not any(pattern.startswith("!") for pattern in fit)
