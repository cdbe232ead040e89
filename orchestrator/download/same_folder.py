"""Which hosts have one and the same folder for their checkpoint?"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

from orchestrator.base.errors import DeployError
from orchestrator.hosts.host import Host
from orchestrator.programs.ask import Answers
from orchestrator.programs.same_folder import Marked, Marks, SameFolder, SeenMarks

SECONDS = 60.0


def same_folder(folders: Mapping[str, tuple[Host, str]]) -> dict[str, str]:
    """By host, the first one (in their order) that has the same folder, which may be itself; of a host that cannot tell it is.

    Nothing stays in the folders; one that is missing is made.
    """
    marks = {name: f".deploy-{secrets.token_hex(16)}" for name in folders}
    first = {name: name for name in folders}
    with ExitStack() as until_end:
        streams: dict[str, Answers[Marked | SeenMarks]] = {}
        for name, (host, folder) in folders.items():
            try:
                stream = Answers(host, SameFolder(folder=folder, mark=marks[name], seconds=SECONDS))
            except DeployError:
                continue
            until_end.callback(stream.close)
            streams[name] = stream
        answers = {name: stream.values() for name, stream in streams.items()}
        there = [name for name in streams if _marked(answers[name])]
        line = Marks(marks=tuple(marks[name] for name in there)).model_dump_json().encode() + b"\n"
        for name in there:
            streams[name].write(line)
        for name in there:
            try:
                seen = next(answers[name], None)
            except DeployError:
                continue
            if isinstance(seen, SeenMarks):
                first[name] = next((other for other in there if marks[other] in seen.seen), name)
    return first


def _marked(answers: Iterator[Marked | SeenMarks]) -> bool:
    try:
        answer = next(answers, None)
    except DeployError:
        return False
    return isinstance(answer, Marked) and answer.marked
