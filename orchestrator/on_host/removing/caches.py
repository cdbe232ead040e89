"""Where does an engine with this environment keep what it compiled, and where do downloads keep their locks?

Defaults and variables are those of vLLM 0.16 to 0.33, Triton 2 and 3, PyTorch 2 and FlashInfer 0.2 to 0.6.
"""

from __future__ import annotations

import os
import pwd
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

VARIABLES = (
    "HOME", "LOGNAME", "USER", "LNAME", "USERNAME", "TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME", "VLLM_CACHE_ROOT", "TRITON_HOME",
    "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "FLASHINFER_WORKSPACE_BASE", "HF_HOME", "HF_HUB_CACHE",
    "HUGGINGFACE_HUB_CACHE",
)  # fmt: skip
"""The variables that decide: a launch has them on record as it had them. None of them is a secret."""

_TRITON = r"[A-Z2-7]{52}|[0-9a-f]{64}"  # a sha256 in base 32 (3.x) or 16 (2.x)
_INDUCTOR = r"[0-9a-z]{2}|fxgraph|aotautograd|triton|locks"
_IN_INDUCTOR = (  # c2/cc2NRT...: two letters of the hash; a folder ~/go, a clone ~/triton has other names in it
    r"([0-9a-z]{2})/[a-z]\1[a-z2-7]{20,}.*|\w+/\.\d+\.\d+\.tmp|\w{3,}/([0-9a-z]{1,2}|[a-z2-7]{40,}.*|[A-Z2-7]{52})"
)
_FLASHINFER = (
    r"\d[\w.+]*|generated|cached_ops"  # not the cubins: fetched, a host without a network has them once
)


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


def compiled(environment: Mapping[str, str]) -> list[Cache]:
    """Where vLLM, Triton, FlashInfer and PyTorch keep what they compiled; a relative place is nobody's."""
    home = _home(environment)
    vllm = _path(environment.get("VLLM_CACHE_ROOT"), home) or os.path.join(_xdg(environment), "vllm")
    flashinfer = environment.get("FLASHINFER_WORKSPACE_BASE") or home
    found = [
        _at(vllm, "/torch_compile_cache"),
        _at(vllm, "/torch_aot_compile"),
        Cache(flashinfer, ".cache/flashinfer", _FLASHINFER),
    ]
    if place := environment.get("TRITON_CACHE_DIR"):
        found.append(_at(place, entries=_TRITON))
    else:
        found.append(Cache(_path(environment.get("TRITON_HOME"), home) or home, ".triton/cache"))
    if place := environment.get("TORCHINDUCTOR_CACHE_DIR"):
        found.append(_at(place, entries=_INDUCTOR, inside=_IN_INDUCTOR))
    else:
        found.append(Cache(_temporary(environment), f"torchinductor_{_user(environment)}"))
    return [cache for cache in found if os.path.isabs(cache.base) and cache.below]


def hub(environment: Mapping[str, str]) -> str:
    """Where huggingface_hub keeps repositories, and beside them `.locks`."""
    home = _home(environment)
    place = environment.get("HF_HUB_CACHE") or environment.get("HUGGINGFACE_HUB_CACHE")
    usual = environment.get("HF_HOME") or os.path.join(_xdg(environment), "huggingface")
    return _path(place or os.path.join(usual, "hub"), home)


def _at(place: str, below: str = "", **of: str) -> Cache:
    """A cache in a folder that has to be one itself, no link."""
    base, name = os.path.split(os.path.normpath(place))
    return Cache(base, name + below, **of)


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
