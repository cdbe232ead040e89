"""What can be typed next: which playbooks, patches, ids and hosts are known on this machine?

A shell asks at every press of the key, so this reads names of files and a few lines of them, and imports little; whatever cannot be read
offers nothing.
"""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from orchestrator.base.data_folders import FolderKind, data_folders
from orchestrator.patches.files import files_of
from orchestrator.playbook.names import called

SYSTEM_CONFIG = "/etc/ssh/ssh_config"
DEEPEST_INCLUDE = 4


def playbooks(ctx: click.Context, _: click.Parameter | None, typed: str) -> list[CompletionItem]:
    """Names of playbooks; a path is completed by the shell as a file."""
    if typed.startswith((".", "/", "~")):
        return [CompletionItem(typed, type="file")]
    return _starting(typed, _names("playbooks", ctx))


def patches(ctx: click.Context, _: click.Parameter | None, typed: str) -> list[CompletionItem]:
    return _starting(typed, _names("patches", ctx))


def ids(ctx: click.Context, parameter: click.Parameter | None, typed: str) -> list[CompletionItem]:
    """Playbooks and patches, as `deploy show` takes them."""
    return [*playbooks(ctx, parameter, typed), *patches(ctx, parameter, typed)]


def consents(_: click.Context, __: click.Parameter | None, typed: str) -> list[CompletionItem]:
    from orchestrator.base.consents import CONSENTS

    return _starting(typed, CONSENTS)


def hosts(ctx: click.Context, _: click.Parameter | None, typed: str) -> list[CompletionItem]:
    """Aliases of ssh_config, names of known_hosts, and local; a user before an @ is kept."""
    user, at, host = typed.rpartition("@")
    config = ctx.params.get("ssh_config")
    names = {"local"} if not at else set()
    with contextlib.suppress(OSError, RuntimeError):
        names.update(_aliases([config] if config else ["~/.ssh/config", SYSTEM_CONFIG]))
        if not config:
            names.update(_known(Path("~/.ssh/known_hosts").expanduser()))
    return [CompletionItem(f"{user}{at}{name}") for name in _offered(names) if name.startswith(host)]


def groups(_: click.Context, __: click.Parameter | None, typed: str) -> list[CompletionItem]:
    """Groups of hosts that the user has named; a path is completed by the shell as a file."""
    from orchestrator.base.errors import UsageError
    from orchestrator.hosts.inventory import group_names

    with contextlib.suppress(UsageError):
        if named := _starting(typed, group_names()):
            return named
    return [CompletionItem(typed, type="file")]


def gpus(_: click.Context, __: click.Parameter | None, typed: str) -> list[CompletionItem]:
    """Names of cards behind the count that was typed, in a spelling that a shell need not quote."""
    from orchestrator.survey.cards import known

    count = re.match(r"\d+x|", typed)
    names = (card.name.replace(" ", "-") for card in known())
    return _starting(typed, (f"{count[0] if count else ''}{name}" for name in names))


def files(_: click.Context, __: click.Parameter | None, typed: str) -> list[CompletionItem]:
    """Left to the shell."""
    return [CompletionItem(typed, type="file")]


def _starting(typed: str, names: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in _offered(names) if name.startswith(typed)]


def _offered(names: Iterable[str]) -> list[str]:
    """In the order of the alphabet; a name that would act on the terminal is not offered."""
    return sorted(name for name in set(names) if name.isprintable())


def _names(kind: FolderKind, ctx: click.Context) -> Iterator[str]:
    extra = ctx.params.get(kind) or ()
    with contextlib.suppress(OSError, RuntimeError):
        folders = data_folders(kind, [Path(folder) for folder in extra])
        if kind == "playbooks":
            yield from called(folders)
        else:
            yield from (path.stem for folder in folders for path in files_of(folder))


def _aliases(files: Iterable[str], depth: int = 0) -> Iterator[str]:
    """Names in Host lines, without patterns; Include is followed as ssh does, relative to ~/.ssh."""
    for name in files:
        path = Path(name).expanduser()
        base = Path("/etc/ssh") if path.is_relative_to("/etc/ssh") else Path("~/.ssh").expanduser()
        for key, words in _keywords(path):
            if key == "host":
                yield from (word for word in words if not set("*?!") & set(word))
            elif key == "include" and depth < DEEPEST_INCLUDE:
                for word in words:
                    yield from _aliases(_matching(base / Path(word).expanduser()), depth + 1)


def _matching(pattern: Path) -> list[str]:
    """Files that an absolute pattern names."""
    return sorted(str(path) for path in Path("/").glob(str(pattern).lstrip("/")))


def _keywords(path: Path) -> Iterator[tuple[str, list[str]]]:
    if not path.is_file():
        return
    with contextlib.suppress(OSError):
        for line in path.read_text(errors="replace").splitlines():
            keyword = re.match(r"\s*(host|include)(?:\s+|\s*=\s*)(.*)", line, re.IGNORECASE)
            if keyword:
                with contextlib.suppress(ValueError):
                    yield keyword[1].lower(), shlex.split(keyword[2], comments=True)


def _known(path: Path) -> Iterator[str]:
    """Names that known_hosts has in clear; `[name]:port` as a target that deploy takes."""
    if not path.is_file():
        return
    for line in path.read_text(errors="replace").splitlines():
        first = line.split(" ", 1)[0]
        if not line.strip() or first.startswith(("#", "@", "|")):
            continue
        for name in first.split(","):
            if not set("*?!") & set(name):
                yield re.sub(r"^\[([^\]:]+)\]:(\d+)$", r"\1:\2", name)
