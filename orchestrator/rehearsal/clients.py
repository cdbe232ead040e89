"""What do clients see of a service that they ask without a pause: how many requests are answered, and which are lost?"""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field


@dataclass
class Requested:
    """What became of the requests of some clients; `lost` says why, one line each."""

    whole: int = 0
    lost: list[str] = field(default_factory=list)


class LoadClients:
    """Some of a model at a port of this machine that stream answers of so many tokens, and some that wait for a whole one, each
    beginning anew `rest` seconds after it has one.

    A stream is whole only where it ends with a finish_reason and [DONE]: a router may cut one off with status 200.
    """

    def __init__(
        self,
        port: int,
        model: str,
        *,
        streams: int = 3,
        plain: int = 2,
        tokens: int = 40,
        rest: float = 0.0,
    ) -> None:
        self.asked = Requested()
        self._model = model
        self._port, self._tokens, self._rest = port, tokens, rest
        self._ended = threading.Event()
        self._counting = threading.Lock()
        kinds = [True] * streams + [False] * plain
        self._threads = [threading.Thread(target=self._ask, args=(kind,), daemon=True) for kind in kinds]

    def __enter__(self) -> LoadClients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(60)

    def until(self, count: int, seconds: float = 60.0) -> None:
        """Wait until so many more have had a whole answer."""
        wanted, give_up = self.asked.whole + count, time.monotonic() + seconds
        while self.asked.whole < wanted and time.monotonic() < give_up:
            time.sleep(0.05)

    def _ask(self, stream: bool) -> None:
        while not self._ended.is_set():
            reason = self._complete(stream)
            with self._counting:
                if reason is None:
                    self.asked.whole += 1
                else:
                    self.asked.lost.append(reason)
            self._ended.wait(self._rest if reason is None else 0.1)

    def _complete(self, stream: bool) -> str | None:
        """Why it was lost; None for a whole answer."""
        body = {
            "model": self._model,
            "prompt": "2+2=",
            "max_tokens": self._tokens,
            "stream": stream,
            "ignore_eos": True,
        }
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}/v1/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with direct.open(request, timeout=60) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            return f"status {error.code}: {error.read()[:100]!r}"
        except (OSError, http.client.HTTPException) as error:
            return f"{type(error).__name__}: {error}"
        if stream:
            whole = '"finish_reason": "length"' in text.replace('":"', '": "') and text.rstrip().endswith(
                "[DONE]"
            )
            events = text.count("data: ")
            return None if whole else f"a stream was cut off after {events} of {self._tokens} tokens"
        try:
            return None if json.loads(text)["choices"] else f"no answer: {text[:100]!r}"
        except (ValueError, KeyError):
            return f"an answer was cut off: {text[-60:]!r}"
