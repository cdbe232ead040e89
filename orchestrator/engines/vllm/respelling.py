"""What does a release of vLLM call an option that it does not know by this name, and which one may be left out?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from packaging.version import Version

from orchestrator.engines.options import OptionValue
from orchestrator.engines.vllm.option_table import entry, opposite, releases, spelling, takes
from orchestrator.engines.vllm.releases import first, table


@dataclass(frozen=True)
class Respelling:
    """What stands for an option: other options, or a variable; neither where it is left out, and `why`."""

    when: str
    """Since which release, or before which: "since vLLM 0.13.0"."""
    options: tuple[tuple[str, OptionValue], ...] = ()
    variable: tuple[str, str] | None = None
    why: str = ""


def respelled(name: str, value: OptionValue, release: Version) -> Respelling | None:
    """None where the release takes the name as it is, or nothing is known to stand for it."""
    if _taken(name, release):
        return _keys(name, value, release)
    when = _when(name, release)
    if why := table("renames.json")["left_out"].get(name):
        return Respelling(when, why=why)
    for rule in (_same, _opposite, _by_value, _variable):
        instead = rule(name, value, release, when)
        if instead is not None:
            return instead
    return None


def _taken(name: str, release: Version) -> bool:
    """A key of a JSON value is judged where its option turned it into another one."""
    return spelling(name.partition(".")[0], release) is not None and (
        "." not in name or entry(name) is None or takes(name, release) is not None
    )


def _keys(name: str, value: OptionValue, release: Version) -> Respelling | None:
    """The same for the keys of a JSON value that are known by release."""
    whole = value if isinstance(value, dict) else {}
    keys = [key for key in whole if not _taken(f"{name}.{key}", release)]
    others = {key: _renamed().get(f"{name}.{key}", "").partition(".")[2] for key in keys}
    if not keys or not all(others.values()):
        return None
    renamed = {others.get(key, key): inner for key, inner in whole.items()}
    return Respelling(_when(f"{name}.{keys[0]}", release), ((name, renamed),))


def _when(name: str, release: Version) -> str:
    known = entry(name) or entry(name.removeprefix("no-")) or entry(name.partition(".")[0])
    if known is None:  # --disable-X of the releases that pair it with --enable-X
        return f"before vLLM {table('options.json')['paired_since']}"
    gone = releases().after(known["in"])
    if gone is not None and gone <= release:
        return f"since vLLM {gone}"
    return f"before vLLM {first(known['in'])}"


def _opposite(name: str, value: OptionValue, release: Version, when: str) -> Respelling | None:
    """--no-enable-X for --disable-X, which the newest releases list; without X nothing has to be switched off."""
    if value is not True:
        return None
    other = opposite(name)
    kind = takes(other, release) if other else None
    if other and kind == "boolean":
        return Respelling(when, ((f"no-{other}", True),))
    if kind == "switch":
        return Respelling(when, why=f"--{other} is not given, and nothing else switches it off")
    positive = name.removeprefix("no-")
    known = entry(positive)
    if known is None or positive == name or "default" in known or positive in _renamed():
        return None
    return Respelling(when, why=f"there is no --{positive} to switch off")


def _same(name: str, value: OptionValue, release: Version, when: str) -> Respelling | None:
    if isinstance(value, dict) and "." not in name:
        parts = [_same(f"{name}.{key}", inner, release, when) for key, inner in value.items()]
        if parts and all(parts):
            return Respelling(when, tuple(item for part in parts if part for item in part.options))
    other = _renamed().get(name)
    if other is None or not _taken(other, release):
        return None
    return Respelling(when, tuple(_valued(other, value, release)))


def _valued(name: str, value: OptionValue, release: Version) -> Iterator[tuple[str, OptionValue]]:
    """A switch is bare, as a key of a JSON value it is true."""
    switch = takes(name, release) in ("switch", "boolean")
    if switch and str(value).lower() == "false":
        yield f"no-{name}", True
    elif switch and str(value).lower() == "true":
        yield name, True
    else:
        yield name, "true" if value is True and "." in name else value


def _renamed() -> Mapping[str, str]:
    pairs: list[list[str]] = table("renames.json")["same"]
    return {**dict(pairs), **{new: old for old, new in pairs}}


def _by_value(name: str, value: OptionValue, release: Version, when: str) -> Respelling | None:
    text = "true" if value is True else str(value)
    meant: Mapping[str, Any] | None = table("renames.json")["by_value"].get(name, {}).get(text)
    if meant is None or not all(takes(option, release) for option in meant):
        return None
    return Respelling(when, tuple(meant.items()), why="" if meant else "the model decides it by itself")


def _variable(name: str, value: OptionValue, release: Version, when: str) -> Respelling | None:
    variable: str | None = table("renames.json")["variable"].get(name)
    known = entry(name)
    if variable is None or known is None or release > Version(first(known["in"])):
        return None
    text = str(value)
    return Respelling(when, variable=(variable, text.upper() if known["takes"] == "word" else text))
