"""What passes between a client and a server, with some delay, and how often does it turn round?"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from types import TracebackType

CHUNK = 1 << 16


class Relay:
    """A TCP relay on a free port of loopback; `delay` in seconds each way.

    `turns` counts how often the client spoke after it had heard the server, from when `counts` was true. Over a
    slow line that is the number of round trips: what is sent without waiting for an answer goes out together.
    """

    def __init__(self, port: int, *, delay: float = 0.0, counts: Callable[[], bool] = lambda: True) -> None:
        self._to = port
        self._delay = delay
        self._counts = counts
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._heard = False
        self.counting = False
        self.turns = 0
        self.port = 0

    def __enter__(self) -> Relay:
        self._thread.start()
        starting = asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result()
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_connection("127.0.0.1", self._to)
        try:
            await asyncio.gather(
                self._pass(client, to_server, self._spoke), self._pass(server, to_client, self._hears)
            )
        except asyncio.CancelledError:  # the relay ends while a connection stands
            return
        finally:
            to_server.close()
            to_client.close()

    async def _pass(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, seen: Callable[[], None]
    ) -> None:
        with contextlib.suppress(ConnectionResetError):  # one that leaves need not say goodbye
            while chunk := await source.read(CHUNK):
                self._loop.call_later(self._delay, self._write, sink, chunk, seen)
        self._loop.call_later(self._delay, sink.close)

    def _write(self, sink: asyncio.StreamWriter, chunk: bytes, seen: Callable[[], None]) -> None:
        seen()
        if not sink.is_closing():
            sink.write(chunk)

    def _hears(self) -> None:
        self.counting = self.counting or self._counts()
        self._heard = True

    def _spoke(self) -> None:
        if self.counting and self._heard:
            self.turns += 1
        self._heard = False
