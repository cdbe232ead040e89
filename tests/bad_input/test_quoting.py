"""What a person writes is never read by a shell: a file would be there that proves it."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import pytest

from tests import stand_in
from tests.bad_input.refused import ONE_CARD, refused
from tests.deployments import REPOSITORY, Case

AWKWARD = 'it\'s "a" $(touch {0}) `touch {0}` ;touch {0}& é \\ *'


def test_awkward_words_reach_the_engine_as_they_are(case: Case, repositories: Path, tmp_path: Path) -> None:
    short = Path(tempfile.mkdtemp(prefix="c"))  # the word stands twice in a file's name of at most 255 bytes
    canary = short / "c"
    word = AWKWARD.format(canary)
    name = word.replace("/", "%")
    case.checkpoint = tmp_path / f"-x {name}"
    engine = stand_in.make(tmp_path / f"-e {name}")
    shutil.copytree(repositories / REPOSITORY, case.checkpoint)
    case.content["checkpoint"] = {"folder": str(case.checkpoint)}
    case.content |= {"engine": {"python": engine.python}, **ONE_CARD}
    case.content["arguments"] = {"chat-template": word, "generation-config": f"-- {word}"}
    case.content["environment"] = {"AWKWARD": word, "DASHED": f"-n {word}"}
    case.content["smoke"] = {"prompt": f"{word}\n{word}", "max_tokens": 2}
    case.write()
    try:
        left = case.deploy(
            "PLAYBOOK", "--json", "--env", f"GIVEN={word}", "--engine-arg", f"response-role={word}"
        )
        assert left.code == 0, left.out + left.err
        status = json.loads(case.deploy("status", "PLAYBOOK", "--json").out)
        commands = {one["pid"]: words_of(one["pid"], "cmdline") for one in status["members"]}
        pid = min(pid for pid, argv in commands.items() if argv[0] == engine.python)
        argv = commands[pid]
        for one in (
            engine.python,
            str(case.checkpoint),
            word,
            f"--generation-config=-- {word}",
        ):
            assert one in argv
        environment = words_of(pid, "environ")
        for one in (f"AWKWARD={word}", f"DASHED=-n {word}", f"GIVEN={word}"):
            assert one in environment
    finally:
        assert case.deploy("stop", "PLAYBOOK").code == 0
    short.rmdir()  # empty: no shell made the canary


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("$(touch CANARY)",), "invalid_playbook"),
        (("PLAYBOOK", "--set", "model.served_name=$(touch CANARY)"), "invalid_option"),
        (("PLAYBOOK", "--set", "model.repository=-x/`touch CANARY`"), "invalid_option"),
        (("PLAYBOOK", "--set", "engine.python=-c;touch CANARY"), "invalid_option"),
        (("PLAYBOOK", "--set", 'checkpoint.folder="/a\\nb"'), "invalid_option"),
        (("PLAYBOOK", "--engine-arg", "seed=1\n2"), "invalid_option"),
        (("PLAYBOOK", "--engine-arg", "$(touch CANARY)=1"), "invalid_option"),
        (("PLAYBOOK", "--env", "A=1\n2"), "invalid_option"),
        (("PLAYBOOK", "--env", "A B=1"), "invalid_option"),
        (("PLAYBOOK", "--patch", "$(touch CANARY)"), "unknown_patch"),
        (("PLAYBOOK", "--model-dir", "/a\nb"), "invalid_option"),
        (("PLAYBOOK", "--model-dir", "/a\0b"), "invalid_option"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[-1][:16].encode("unicode_escape").decode(),
)
def test_words_that_are_refused(case: Case, tmp_path: Path, words: tuple[str, ...], code: str) -> None:
    canary = tmp_path / "canary"
    refused(case, *(word.replace("CANARY", str(canary)) for word in words), exit_code=2, code=code)
    assert not canary.exists()


def words_of(pid: int, name: str) -> list[str]:
    """The arguments or the environment of a process."""
    return Path(f"/proc/{pid}/{name}").read_bytes().decode().split("\0")
