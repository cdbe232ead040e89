"""What answers in place of the Hub: a server on this machine that speaks its API to the real huggingface_hub?

    with Hub(tmp_path / "repositories") as hub:   # holds ORGANISATION/NAME/FILES
        subprocess.run([...], env={**os.environ, "HF_ENDPOINT": hub.endpoint})
        assert hub.fetched() == ["config.json"]

It speaks what a download uses: model and tree listings, HEAD and GET on /resolve/ with ETags, commit and
ranges, the redirect of large files, and the refusals of gated, missing and failing repositories.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
import threading
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

CHUNK = 64 << 10
LARGE = (".safetensors", ".bin", ".model")
"""What a repository keeps in LFS: named by its sha256, sent from elsewhere after a redirect."""


@dataclass(frozen=True)
class HubRequest:
    """One answered request; `file` where it concerned a file's bytes, `sent` counts body bytes."""

    method: str
    path: str
    file: str | None
    sent: int
    status: int
    authorization: str | None


@dataclass
class Hub:
    """The server and what it was told to do; change the fields at any time."""

    repositories: Path
    token: str | None = None
    """Required to see anything: others get 401 as the real Hub answers for what it hides."""
    gated: bool = False
    """Listings are open, bytes need `token`: 401 without one, 403 with another."""
    fail: dict[str, int] = field(default_factory=dict)
    """File name ("" for the listing) -> how many times it still answers 500."""
    cut: dict[str, int] = field(default_factory=dict)
    """File name -> how many times the connection still breaks half-way."""
    claim: dict[str, int] = field(default_factory=dict)
    """File name -> the bytes that the listing names for it, whatever it has."""
    hold: dict[str, threading.Event] = field(default_factory=dict)
    """File name -> its second half is sent when this is set."""
    requests: list[HubRequest] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.held = threading.Event()
        """Set as soon as a request waits for one of `hold`."""
        self._server = _Server(("127.0.0.1", 0), functools.partial(_Handler, self))
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Hub:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for event in self.hold.values():
            event.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def fetched(self) -> list[str]:
        """The names of the files whose bytes were sent, each once, sorted."""
        return sorted({r.file for r in self.requests if r.file and r.method == "GET" and r.sent})

    def commit(self, repository: str) -> str:
        names = sorted(_names(self.repositories / repository))
        text = "".join(f"{name} {_blob(self.repositories / repository / name)}\n" for name in names)
        return hashlib.sha1(text.encode()).hexdigest()


def _names(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def _digest(path: Path, kind: str) -> str:
    status = path.stat()
    return _hashed(path, status.st_mtime_ns, status.st_size, kind)


@functools.lru_cache(maxsize=1000)
def _hashed(path: Path, _mtime: int, size: int, kind: str) -> str:
    data = path.read_bytes()
    return hashlib.sha256(data).hexdigest() if kind == "sha256" else _git(data, size)


def _git(data: bytes, size: int) -> str:
    return hashlib.sha1(b"blob %d\0" % size + data).hexdigest()


def _blob(path: Path) -> str:
    """The git identity: of the file, or of the pointer that stands for a large one."""
    if not path.name.endswith(LARGE):
        return _digest(path, "git")
    pointer = (
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{_digest(path, 'sha256')}\n"
        f"size {path.stat().st_size}\n"
    ).encode()
    return _git(pointer, len(pointer))


class _Refused(Exception):
    def __init__(self, status: int, code: str | None, message: str) -> None:
        self.status, self.code, self.message = status, code, message


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left in the middle (a download that failed or was ended) is not worth a traceback."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, hub: Hub, *arguments: Any) -> None:
        self.hub = hub
        super().__init__(*arguments)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: the requests are recorded instead."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        url = urlsplit(self.path)
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        try:
            if parts[:2] == ["api", "models"]:
                self._api(parts[2:], parse_qs(url.query))
            elif len(parts) > 4 and parts[2] == "resolve":
                self._resolve("/".join(parts[:2]), parts[3], "/".join(parts[4:]))
            elif parts[0] == "large":
                self._send_file("/".join(parts[1:3]), "/".join(parts[3:]), {})
            else:
                raise _Refused(404, None, "Not found")
        except _Refused as refused:
            headers = {"X-Error-Message": refused.message}
            if refused.code:
                headers["X-Error-Code"] = refused.code
            self._send(refused.status, json.dumps({"error": refused.message}).encode(), headers)

    def _api(self, parts: list[str], query: dict[str, list[str]]) -> None:
        folder, commit = self._repository("/".join(parts[:2]), parts[3] if len(parts) > 3 else "main")
        self._fail_for("")
        action = parts[2] if len(parts) > 2 else "revision"
        if action == "auth-check":
            self._pass_gate()
            return self._json({})
        if action == "tree":
            return self._json([self._entry(folder, name) for name in sorted(_names(folder))])
        siblings = [
            self._sibling(folder, name) if "blobs" in query else {"rfilename": name}
            for name in sorted(_names(folder))
        ]
        repository = "/".join(parts[:2])
        return self._json({
            "_id": commit[:24], "id": repository, "modelId": repository, "sha": commit, "private": False,
            "gated": "manual" if self.hub.gated else False, "disabled": False, "tags": [], "downloads": 0,
            "likes": 0, "siblings": siblings,
        })  # fmt: skip

    def _sibling(self, folder: Path, name: str) -> dict[str, Any]:
        path = folder / name
        size = self.hub.claim.get(name, path.stat().st_size)
        sibling: dict[str, Any] = {"rfilename": name, "size": size, "blobId": _blob(path)}
        if name.endswith(LARGE):
            sibling["lfs"] = {
                "sha256": _digest(path, "sha256"),
                "size": size,
                "pointerSize": 134,
            }
        return sibling

    def _entry(self, folder: Path, name: str) -> dict[str, Any]:
        path = folder / name
        entry: dict[str, Any] = {
            "type": "file",
            "path": name,
            "size": path.stat().st_size,
            "oid": _blob(path),
        }
        if name.endswith(LARGE):
            entry["lfs"] = {"oid": _digest(path, "sha256"), "size": path.stat().st_size, "pointerSize": 134}
        return entry

    def _resolve(self, repository: str, revision: str, name: str) -> None:
        folder, commit = self._repository(repository, revision)
        self._pass_gate()
        self._fail_for(name)
        path = folder / name
        headers = {"X-Repo-Commit": commit}
        if not path.is_file():
            raise _Refused(404, "EntryNotFound", "Entry not found")
        if not name.endswith(LARGE):
            return self._send_file(repository, name, {**headers, "ETag": f'"{_blob(path)}"'})
        headers["X-Linked-Etag"] = f'"{_digest(path, "sha256")}"'
        headers["X-Linked-Size"] = str(path.stat().st_size)
        # another host name, as the real Hub's storage has: a client must not follow with its token
        elsewhere = self.hub.endpoint.replace("127.0.0.1", "localhost")
        headers["Location"] = f"{elsewhere}/large/{repository}/{name}"
        return self._send(302, b"", headers, file=name)

    def _send_file(self, repository: str, name: str, headers: dict[str, str]) -> None:
        data = (self.hub.repositories / repository / name).read_bytes()
        span, status = self.headers.get("Range"), 200
        if span:
            first, _, last = span.removeprefix("bytes=").partition("-")
            end = int(last) + 1 if last else len(data)
            headers["Content-Range"] = f"bytes {first}-{end - 1}/{len(data)}"
            data, status = data[int(first) : end], 206
        self._send(status, data, {**headers, "Accept-Ranges": "bytes"}, file=name)

    def _repository(self, repository: str, revision: str) -> tuple[Path, str]:
        folder = self.hub.repositories / repository
        if self.hub.token and not self.hub.gated and self._token() != self.hub.token:
            if self._token() is None:
                raise _Refused(401, "RepoNotFound", "Repository not found")
            raise _Refused(401, None, "Invalid credentials in Authorization header")
        if not folder.is_dir():
            raise _Refused(404, "RepoNotFound", "Repository not found")
        commit = self.hub.commit(repository)
        if revision not in ("main", commit):
            raise _Refused(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return folder, commit

    def _token(self) -> str | None:
        value = self.headers.get("Authorization")
        return value.removeprefix("Bearer ") if value else None

    def _pass_gate(self) -> None:
        if self.hub.gated and self._token() != self.hub.token:
            status = 401 if self._token() is None else 403
            raise _Refused(status, "GatedRepo", "Access to this model is restricted")

    def _fail_for(self, name: str) -> None:
        if self.hub.fail.get(name, 0) > 0:
            self.hub.fail[name] -= 1
            raise _Refused(500, None, "Internal error")

    def _json(self, value: Any) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, body: bytes, headers: dict[str, str], *, file: str | None = None) -> None:
        """Answer; that is on record before the last byte goes out, since whoever has that byte may look at once."""
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        sent = len(body) if self.command == "GET" else 0
        request = HubRequest(self.command, self.path, file, sent, status, self.headers.get("Authorization"))
        if not sent:
            self.hub.requests.append(request)
        self.end_headers()
        if sent:
            self._send_body(body, request)

    def _send_body(self, body: bytes, request: HubRequest) -> None:
        file, half = request.file or "", len(body) // 2
        parts = [body[at : at + CHUNK] for at in range(0, len(body), CHUNK)]
        held = self.hub.hold.get(file)
        if self.hub.cut.get(file, 0) > 0:
            self.hub.cut[file] -= 1
            self.close_connection = True
            parts, held, request = [body[:half]], None, replace(request, sent=half)
        elif held is not None:
            parts = [body[:half], body[half:]]
        *earlier, last = parts
        try:
            for part in earlier:
                self.wfile.write(part)
            if held is not None:
                self.hub.held.set()
                held.wait(60)
        except ConnectionError:  # the client was killed
            self.close_connection = True
            self.hub.requests.append(replace(request, sent=half))
            return
        self.hub.requests.append(request)
        try:
            self.wfile.write(last)
        except ConnectionError:
            self.close_connection = True
