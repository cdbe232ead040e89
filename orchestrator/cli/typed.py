"""How is a command line told again: for a next command to type, without the secrets that were in it?"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from orchestrator.cli.options import SharedOptions
from orchestrator.engines.command_line import canonical
from orchestrator.on_host.secrets.secrets import STARS, holds_secret, is_secret, redact

_VALUED = ("--env", "--set", "--engine-arg")
_LISTED = ("--consent", "--patch", "--no-patch", "--host")
"""Options that are given once for each value."""
_FLAGS = ("--as-one", "--part", "--dry-run", "--json", "--yes")
"""Options without a value: what stands behind one is another word."""


def as_typed(arguments: Sequence[str]) -> str:
    """`deploy ...` as it was typed. Of secrets only the name is left: `--env NAME` takes the value from the
    environment, and so does whoever types this again."""
    return shlex.join(["deploy", *_masked(arguments)])


def amended(command: str, more: str) -> str:
    """The command with further options behind it; what it says of the same thing already is left out."""
    anew = {_thing(words) for words in _options(shlex.split(more))} - {None}
    kept = [words for words in _options(shlex.split(command)) if _thing(words) not in anew]
    return f"{shlex.join(word for words in _once(kept) for word in words)} {more}"


def _once(options: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """The options, of those that name a host twice the first."""
    named = set[tuple[str, str] | None]()
    for words in options:
        thing = _thing(words)
        if thing is None or thing[0] != "--host" or thing not in named:
            yield words
        named.add(thing)


def on_group(command: str, hosts: Sequence[str]) -> str:
    """The command for all of the hosts that serve as one, whichever of them it names."""
    mine = ("--host", "--hosts", "--as-one", "--part")
    kept = [words for words in _options(shlex.split(command)) if words[0].partition("=")[0] not in mine]
    named = [word for host in hosts for word in ("--host", host)]
    return shlex.join([*(word for words in kept for word in words), *named, "--as-one"])


def _options(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Each option with what stands behind it, which is its value or none of its own, and each other word by itself."""
    rest = list(words)
    while rest:
        name = rest[0]
        last = rest[1:2] == [] or rest[1].startswith("-")
        alone = not name.startswith("--") or "=" in name or name in _FLAGS or last
        yield rest[: 1 if alone else 2]
        del rest[: 1 if alone else 2]


def _thing(words: Sequence[str]) -> tuple[str, str] | None:
    """What an option says something of: its name, with the key of a setting, or with the value where an option may be given
    often; None for anything else."""
    if words[0] in _FLAGS:
        return words[0], ""
    name, glued, value = words[0].partition("=")
    if not name.startswith("--") or not (glued or len(words) == 2):
        return None
    value = value if glued else words[1]
    key = value.partition("=")[0] if name in _VALUED else value if name in _LISTED else ""
    return name.removesuffix("-version"), key  # the longer spelling of an engine's option


def _masked(arguments: Sequence[str]) -> Iterator[str]:
    option = ""
    for item in arguments:
        name, glued, value = item.partition("=")
        if name in _VALUED and glued:
            yield f"{name}={_value(name, value)}"
        elif option in _VALUED:
            yield _value(option, item)
        else:
            yield redact(item)
        option = item


def shareable(option: str, values: Sequence[str]) -> list[str]:
    """What an option was given each time, without the secrets."""
    return [_value(option, value) for value in values]


def _value(option: str, setting: str) -> str:
    """A setting without its secret: that of an option which takes secrets, or one that is hidden in the value."""
    key, equals, _ = setting.partition("=")
    if not equals or not (is_secret(_last(key)) or holds_secret(setting)):
        return redact(setting)
    return key if option == "--env" else f"{key}={STARS}"


def _last(key: str) -> str:
    return key.rpartition(".")[2].replace("-", "_").upper()


def reaching(host: str, ssh_config: str | None) -> str:
    """The options that lead to the same host, for hints."""
    return shlex.join(_masked(["--host", host, *(("--ssh-config", ssh_config) if ssh_config else ())]))


def retyped(command: str, argument: str, instead: str | None) -> str:
    """A command line with another engine argument for that of this name, or (None) without it."""
    words = iter(shlex.split(command))
    kept: list[str] = []
    for word in words:
        option, glued, setting = word.partition("=")
        if option not in ("--set", "--engine-arg"):
            kept.append(word)
            continue
        setting = setting if glued else next(words, "")
        name = setting.removeprefix("arguments." if option == "--set" else "--").partition("=")[0]
        if canonical(name) != argument or (option == "--set" and name == setting.partition("=")[0]):
            kept += [option, setting]
        elif instead is not None:
            kept += ["--engine-arg", instead]
    return shlex.join(kept)


def again(options: SharedOptions, *hosts: str, as_one: bool = True) -> str:
    """Playbook and host, or several (which serve as one unless told), with every option that leads to the same ones, for hints such as `deploy stop ...`."""
    words = [
        *([options.playbook] if options.playbook else []),
        *(word for host in hosts for word in ("--host", host)),
        *(["--as-one"] if as_one and len(hosts) > 1 else []),
    ]
    for name, values in (
        ("--playbooks", options.playbooks),
        ("--patches", options.patches),
        ("--ssh-config", (options.ssh_config,) if options.ssh_config else ()),
        ("--model-dir", (options.model_dir,) if options.model_dir else ()),
        ("--name", (options.name,) if options.name else ()),
        ("--set", options.settings),
        ("--engine-arg", options.engine_args),
        ("--env", options.env),
    ):
        words += [word for value in values for word in (name, str(value))]
    return shlex.join(_masked(words))
