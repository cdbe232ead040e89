"""What a host is asked to write for a patch, and to put back for it."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest

from orchestrator.checkpoint.edits import Edit, Edits
from orchestrator.plan.change import Change
from orchestrator.plan.wishes import Wishes
from orchestrator.programs.config_files import Done
from orchestrator.programs.journal import FileChange
from orchestrator.remedy import apply
from orchestrator.survey.journal import AppliedPatch
from tests.jobs import PATCHES, Answering, job

FOREIGN = Wishes(consents=("foreign-folder",))
BEFORE = {"config.json": b'{"a": 1}', "hf_quant_config.json": b'{"b": 1}'}
AFTER = {"config.json": b"{}", "hf_quant_config.json": b'{"b": null}'}
EDITS = Edits((Edit("config.json", "/a", "remove"),), BEFORE, AFTER)


def host() -> Answering:
    files = [{"name": "config.json", "done": "restored"}]
    return Answering(config_files={"record": {"action": "revert", "patch": "mine"}, "files": files})


def change(**more: Any) -> Change:
    given = {"flags": {"--seed": "1", "--swap-space": None}, "environment": {"NCCL_DEBUG": "INFO"}, **more}
    return Change(PATCHES[0], "finding", "", way="drop --swap-space", **given)


def test_the_edited_files_are_written_with_the_deciding_one_last() -> None:
    there = host()
    apply.apply(job(there), "/m", change(edits=EDITS), cause="it broke")
    ((program, request),) = there.asked
    written = [(file["name"], base64.b64decode(file["content"])) for file in request.pop("files")]
    assert written == [("hf_quant_config.json", b'{"b": null}'), ("config.json", b"{}")]
    assert program == "config_files"
    assert request == {
        "action": "apply",
        "instance": "kimi-k2.5",
        "folder": "/m",
        "patch": PATCHES[0].id,
        "record": {
            "action": "patch",
            "patch": PATCHES[0].id,
            "folder": "/m",
            "flags": {"--seed": "1", "--swap-space": None},
            "environment": {"NCCL_DEBUG": "INFO"},
            "why": "finding",
            "way": "drop --swap-space",
            "cause": "it broke",
            "engine": {},
        },
        "foreign_folder": False,
    }


def test_a_file_is_written_only_over_the_bytes_that_were_planned_with() -> None:
    there = host()
    apply.apply(job(there), "/m", change(edits=EDITS), cause="")
    expected = {file["name"]: file["expect"] for file in there.asked[0][1]["files"]}
    assert expected == {name: hashlib.sha256(text).hexdigest() for name, text in BEFORE.items()}


def test_a_change_of_settings_alone_writes_no_file() -> None:
    there = host()
    apply.apply(job(there, wishes=FOREIGN), "/m", change(), cause="")
    assert (there.asked[0][1]["files"], there.asked[0][1]["foreign_folder"]) == ([], True)


APPLIED = AppliedPatch(
    patch="mine",
    folder="/m",
    files=(
        FileChange(name="a.json", before="a0", after="a1"),
        FileChange(name="b.json", before="b0", after="b1", symlink="../blobs/b"),
    ),
)


def test_what_was_written_last_is_put_back_first() -> None:
    there = host()
    done = apply.revert(job(there), APPLIED, by_person=True)
    assert done == (Done(name="config.json", done="restored"),)
    ((_, request),) = there.asked
    assert request == {
        "action": "restore",
        "instance": "kimi-k2.5",
        "folder": "/m",
        "patch": "mine",
        "files": [
            {"name": "b.json", "before": "b0", "after": "b1", "symlink": "../blobs/b"},
            {"name": "a.json", "before": "a0", "after": "a1", "symlink": None},
        ],
        "record": {
            "action": "revert",
            "patch": "mine",
            "folder": "/m",
            "by_person": True,
            "forgotten": False,
        },
        "foreign_folder": False,
        "shared_checkpoint": False,
    }


@pytest.mark.parametrize(
    ("consents", "by_person", "shared"),
    [((), True, False), (("shared-checkpoint",), True, True), ((), False, True)],
)
def test_files_of_others_are_put_back_with_consent_or_where_the_patch_did_not_help(
    consents: tuple[str, ...], by_person: bool, shared: bool
) -> None:
    there = host()
    apply.revert(job(there, wishes=Wishes(consents=consents)), APPLIED, by_person=by_person)
    ((_, request),) = there.asked
    assert request["shared_checkpoint"] is shared


@pytest.mark.parametrize("by_person", [False, True])
def test_what_is_forgotten_leaves_the_files_alone(by_person: bool) -> None:
    there = host()
    apply.revert(job(there, wishes=FOREIGN), APPLIED, by_person=by_person, forget=True)
    ((_, request),) = there.asked
    assert (request["files"], request["foreign_folder"]) == ([], True)
    record = {"action": "revert", "patch": "mine", "folder": "/m", "by_person": by_person, "forgotten": True}
    assert request["record"] == record
