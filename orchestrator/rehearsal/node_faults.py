"""What makes each failure of several hosts happen, on the last of them?"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping

from orchestrator.rehearsal.box import Box

_LOADING = "Loading safetensors checkpoint shards: 100%"
_LOOK_SECONDS = 0.1
_OTHER_VERSION = "0.15.1"


def arrange(last: Box, name: str) -> None:
    """Make the host such that the fault will happen; called when all hosts are up and nothing runs yet."""
    last.server.environment["STAND_IN_FAULT"] = name
    arrangement = _ARRANGEMENTS.get(name)
    if arrangement is not None:
        arrangement(last)


def _other_version(last: Box) -> None:
    (metadata,) = last.stand_in.folder.glob("lib/*/site-packages/vllm-*.dist-info")
    text = (metadata / "METADATA").read_text()
    (metadata / "METADATA").write_text(f"{text.rpartition('Version: ')[0]}Version: {_OTHER_VERSION}\n")
    metadata.rename(metadata.with_name(f"vllm-{_OTHER_VERSION}.dist-info"))


def _other_config(last: Box) -> None:
    shutil.copytree(last.repository, last.checkpoint)
    config = last.checkpoint / "config.json"
    config.write_text(config.read_text().replace('"rms_norm_eps": 1e-05', '"rms_norm_eps": 1e-06'))


def _host_lost(last: Box) -> None:
    over = threading.Event()

    def wait() -> None:
        logs = f"launches/*/{last.playbook.kind.log_name}"
        while not over.wait(_LOOK_SECONDS):
            if any(_LOADING in log.read_text() for log in last.state.glob(logs)):
                last.vanish()
                return

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    last.closing.callback(waiting.join)
    last.closing.callback(over.set)


_ARRANGEMENTS: Mapping[str, Callable[[Box], None]] = {
    "other-version": _other_version,
    "other-config": _other_config,
    "host-lost": _host_lost,
}
