"""Where does an engine with this environment keep what it compiled, and where do downloads keep their locks?"""

from __future__ import annotations

import os
import pwd
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.on_host.footprint import CachePlace, Footprint

VARIABLES = (
    "HOME", "LOGNAME", "USER", "LNAME", "USERNAME", "TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE",
    "HUGGINGFACE_HUB_CACHE",
)  # fmt: skip
"""The variables that decide beside those of an engine's footprint: a launch has them on record as it had them. None of them
is a secret."""


@dataclass(frozen=True)
class Cache:
    """A folder of compiled code at `base`/`below`.

    `base` may be reached through links, what lies below it not. `entries`: a folder that a variable names may hold anything
    else, so only entries of these names are the cache's; None where the folder's own name says that all of it is. `inside`:
    and only where all that lies in them is of this form (NAME/CHILD), for names that anything may bear.
    """

    base: str
    below: str
    entries: str | None = None
    inside: str | None = None

    def parts(self) -> list[str]:
        """The paths below the base that are the cache's and are taken one by one."""
        if self.entries is None:
            return [self.below]
        return [f"{self.below}/{name}" for name in _names(self.base, self.below) if self._is_entry(name)]

    def _is_entry(self, name: str) -> bool:
        if not re.fullmatch(self.entries or "", name):
            return False
        if self.inside is None:
            return True
        children = _names(self.base, self.below, name)
        return bool(children) and all(re.fullmatch(self.inside, f"{name}/{child}") for child in children)


def compiled(environment: Mapping[str, str], footprint: Footprint) -> list[Cache]:
    """Where an engine of this footprint keeps what it compiled; a relative place is nobody's."""
    counting = (_counts(places, environment) for places in footprint.caches)
    folders = [_cache(place, environment) for place in counting if place is not None]
    return [cache for cache in folders if os.path.isabs(cache.base) and cache.below]


def _counts(places: Sequence[CachePlace], environment: Mapping[str, str]) -> CachePlace | None:
    """The first place whose variable is set, if it needs one."""
    return next((place for place in places if not place.variable or environment.get(place.variable)), None)


def _cache(place: CachePlace, environment: Mapping[str, str]) -> Cache:
    base, below = _start(place, environment), place.below
    if place.itself:
        base, name = os.path.split(os.path.normpath(base))
        below = f"{name}/{below}" if below else name
    return Cache(base, below.replace("{user}", _user(environment)), place.entries, place.inside)


def _start(place: CachePlace, environment: Mapping[str, str]) -> str:
    home = _home(environment)
    if place.variable:
        path = environment[place.variable]
        return _path(path, home) if place.tilde else path
    if place.start == "cache":
        return os.path.normpath(_xdg(environment))
    return home if place.start == "home" else _temporary(environment)


def hub(environment: Mapping[str, str]) -> str:
    """Where huggingface_hub keeps repositories, and beside them `.locks`."""
    home = _home(environment)
    place = environment.get("HF_HUB_CACHE") or environment.get("HUGGINGFACE_HUB_CACHE")
    usual = environment.get("HF_HOME") or os.path.join(_xdg(environment), "huggingface")
    return _path(place or os.path.join(usual, "hub"), home)


def _names(*path: str) -> list[str]:
    try:
        return sorted(os.listdir(os.path.join(*path)))
    except OSError:
        return []


def _home(environment: Mapping[str, str]) -> str:
    if home := environment.get("HOME"):
        return home
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


def _xdg(environment: Mapping[str, str]) -> str:
    home = _home(environment)
    return _path(environment.get("XDG_CACHE_HOME"), home) or os.path.join(home, ".cache")


def _path(place: str | None, home: str) -> str:
    """A path whose leading ~ is the launch's home folder."""
    if place and (place == "~" or place.startswith("~/")):
        return home + place[1:]
    return place or ""


def _temporary(environment: Mapping[str, str]) -> str:
    """As tempfile.gettempdir() chooses: the first that can be written."""
    named = [environment.get(name) for name in ("TMPDIR", "TEMP", "TMP")]
    for place in (*named, "/tmp", "/var/tmp", "/usr/tmp"):
        if place and os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK):
            return place
    return tempfile.gettempdir()


def _user(environment: Mapping[str, str]) -> str:
    """As getpass.getuser() tells it and torch writes it."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        if user := environment.get(name):
            break
    else:
        try:
            user = pwd.getpwuid(os.getuid()).pw_name
        except KeyError:
            user = str(os.getuid())
    return re.sub(r'[\\/:*?"<>|]', "_", user)
