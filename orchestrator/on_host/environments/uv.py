"""Where does the uv come from that makes an environment?

One release is pinned by the hash of its wheel, in which it is one static binary: from whichever index the wheel comes, it is
that one or none. Where no index gives it, a uv that is on the host already will do.
"""

from __future__ import annotations

import hashlib
import html
import io
import os
import re
import shutil
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Sequence
from pathlib import Path

from orchestrator.on_host.environments.failure import InstallFailure
from orchestrator.on_host.files.exchanged import exchanged

VERSION = "0.13.9"
_MUSL = "musllinux_1_1"
WHEELS = {
    "x86_64": (
        f"uv-{VERSION}-py3-none-{_MUSL}_x86_64.whl",
        "2c45530751517d6c3bbc69a19473f6effe47cce047bede01ffd8af7ea7b36b25",
    ),
    "aarch64": (
        f"uv-{VERSION}-py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.{_MUSL}_aarch64.whl",
        "5435c5ce14a56431208ca0996416d310f1598e8c2c8ba707688985a16bb82dbe",
    ),
}
"""By machine: the wheel on PyPI, and its sha256."""
PYPI = "https://pypi.org/simple"
_WHEEL_BYTES = 100 << 20
_PAGE_BYTES = 32 << 20
_TIMEOUT = 60.0


def at_hand(engines: Path, wheels: Path, indexes: Sequence[str], *, offline: bool) -> str:
    """The path of a uv: the pinned one of `engines`, unpacked where it is not there yet from its wheel among those that were
    sent or, unless `offline`, from an index; else the one that was sent as a binary, or the host's own.

    Raises InstallFailure("uv_missing") with what was tried.
    """
    binary = engines / f"uv-{VERSION}" / "uv"
    if os.access(binary, os.X_OK):
        return str(binary)
    machine = os.uname().machine
    try:
        _unpack(
            _sent(wheels, machine) or fetched(machine, () if offline else (*indexes, *_set_here(), PYPI)),
            binary,
        )
        return str(binary)
    except InstallFailure as error:
        missing = error
    sent = wheels / "uv"
    if sent.is_file():
        sent.chmod(0o700)
        return str(sent)
    own = shutil.which("uv", path=f"{os.environ.get('PATH', '')}:{os.path.expanduser('~/.local/bin')}")
    if own:
        return own
    raise missing


def _sent(wheels: Path, machine: str) -> bytes | None:
    """The wheel, where it was sent; it is none where it is not the pinned one."""
    name, sha256 = WHEELS.get(machine, ("", ""))
    path = wheels / name
    data = path.read_bytes() if name and path.is_file() else b""
    return data if hashlib.sha256(data).hexdigest() == sha256 else None


def fetched(machine: str, indexes: Sequence[str]) -> bytes:
    """The pinned wheel for a machine, from the first index that has it; raises InstallFailure("uv_missing")."""
    reasons = [] if machine in WHEELS else [f"there is no wheel of it for {machine}"]
    for index in dict.fromkeys(indexes) if not reasons else ():
        try:
            return _wheel(index, *WHEELS[machine])
        except (urllib.error.URLError, ValueError, TimeoutError, ConnectionError) as error:
            reasons.append(f"{index}: {getattr(error, 'reason', None) or error}")
    tried = f": {'; '.join(reasons)}" if reasons else ", and no index is asked"
    raise InstallFailure("uv_missing", f"uv {VERSION} is not to be had, and none is here{tried}")


def fetched_here(machine: str) -> bytes:
    """The same from the indexes that this machine is set to."""
    return fetched(machine, (*_set_here(), PYPI))


def _set_here() -> list[str]:
    """The indexes that this machine itself is set to."""
    names = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
    return [
        os.environ[name] for name in names if os.environ.get(name, "").startswith(("http://", "https://"))
    ]


def _wheel(index: str, name: str, sha256: str) -> bytes:
    """The wheel from a simple index (PEP 503), whole and the right one; ValueError where it is not there."""
    page = f"{index.rstrip('/')}/uv/"
    links = re.findall(r"""href\s*=\s*["']([^"']+)["']""", _get(page, _PAGE_BYTES).decode("utf-8", "replace"))
    for link in map(html.unescape, links):
        url = urllib.parse.urljoin(page, link)
        if urllib.parse.unquote(urllib.parse.urlsplit(url).path).endswith(f"/{name}"):
            wheel = _get(url, _WHEEL_BYTES)
            if hashlib.sha256(wheel).hexdigest() != sha256:
                raise ValueError(f"its {name} is another than that of PyPI")
            return wheel
    raise ValueError(f"it has no {name}")


def _get(url: str, limit: int) -> bytes:
    request = urllib.request.Request(url, headers={"Accept": "text/html, */*;q=0.1"})
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
        data: bytes = answer.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"{url} gives more than {limit} bytes")
    return data


def _unpack(wheel: bytes, binary: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        data = archive.read(f"uv-{VERSION}.data/scripts/uv")
    binary.parent.mkdir(mode=0o700, exist_ok=True)
    with exchanged(binary, prefix=".uv.") as file:
        file.write(data)
        os.fchmod(file.fileno(), 0o700)
