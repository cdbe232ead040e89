"""When the consent in a playbook stands for the code that is there, and when it asks again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.plan.plan import make_plan
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook import playbook as playbooks
from orchestrator.playbook.playbook import Playbook
from orchestrator.programs.download import Manifest
from orchestrator.programs.inspect_checkpoint import CodeFiles
from orchestrator.survey.survey import Survey
from tests.surveys import NO_FILES, WHOLE, survey

KIMI = playbooks.find("kimi-k2.5", [shipped("playbooks")])
ABC, DEF = "abc" + 37 * "0", "def" + 37 * "0"
CODE = {"modeling.py": "1", "tokenization.py": "2"}
TRUSTED = {
    "action": "consent", "consent": "trust-remote-code", "repository": KIMI.model.repository, "revision": "main", "commit": ABC,
    "code": CODE,
}  # fmt: skip


def manifest(**more: Any) -> Manifest:
    return Manifest.model_validate({"repository": KIMI.model.repository, "commit": ABC, "files": {}, **more})


def found(
    code: CodeFiles | None = None,
    fetched: Manifest | None = None,
    journal: list[dict[str, Any]] | None = None,
) -> Survey:
    checkpoint = replace(WHOLE, code=CodeFiles(files=CODE) if code is None else code, manifest=fetched)
    return survey(checkpoint=checkpoint, journal=journal)


def asks(there: Survey, playbook: Playbook = KIMI, **wishes: Any) -> str | None:
    """What is said where trust-remote-code is missing; None where it is not."""
    return make_plan("gpu7", playbook, there, Wishes(**wishes)).lacking.get("trust-remote-code")


@pytest.mark.parametrize(
    "there",
    [
        survey(checkpoint=NO_FILES),
        found(CodeFiles()),
        found(),
        found(fetched=manifest()),
        found(fetched=manifest(endpoint="https://huggingface.co")),
        found(fetched=manifest(), journal=[TRUSTED]),
        found(journal=[TRUSTED]),
        found(CodeFiles(), manifest(commit=DEF), [TRUSTED]),
    ],
    ids=["not-there-yet", "no-code", "own-folder", "first-use", "from-the-hub", "same", "same-without-manifest", "code-is-gone"],
)  # fmt: skip
def test_what_the_playbook_means(there: Survey) -> None:
    assert asks(there) is None


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (found(fetched=manifest(commit=DEF), journal=[TRUSTED]), ["abc000000000 then, def000000000 now"]),
        (found(CodeFiles(files={**CODE, "modeling.py": "9"}), journal=[TRUSTED]), ["modeling.py changed"]),
        (found(CodeFiles(files={**CODE, "evil.py": "9"}), manifest(), [TRUSTED]), ["evil.py is new"]),
        (found(CodeFiles(files={"modeling.py": "1"}), manifest(), [TRUSTED]), ["tokenization.py is gone"]),
        (
            found(CodeFiles(files={**CODE, "evil.py": "9"}), journal=[TRUSTED]),
            ["when it was trusted: evil.py is new"],
        ),
        (found(fetched=manifest(repository="org/other")), ["fetched from org/other"]),
        (found(fetched=manifest(endpoint="http://mirror")), ["fetched from http://mirror"]),
        (found(CodeFiles(files=CODE, elsewhere=("org/other",))), ["code of org/other", "no commit binds"]),
        (found(CodeFiles(whole=False)), ["not all of the Python"]),
        (
            found(CodeFiles(files=CODE, elsewhere=("org/a", "org/b", "org/a"))),
            ["code of org/a, org/b would run too"],
        ),
        (
            found(CodeFiles(files={"modeling.py": "9"}), manifest(commit=DEF), [TRUSTED]),
            ["abc000000000 then, def000000000 now; modeling.py changed, tokenization.py is gone"],
        ),
    ],
)
def test_what_it_does_not_mean(there: Survey, said: list[str]) -> None:
    sentence = asks(there) or ""
    assert all(part in sentence for part in said), sentence
    assert asks(there, consents=("trust-remote-code",)) is None
    assert asks(there, yes=True) is None


@pytest.mark.parametrize(
    ("more", "end"), [(4, "d.py is new"), (5, "d.py is new and 1 more"), (6, "and 2 more")]
)
def test_of_many_files_some_are_named(more: int, end: str) -> None:
    new = {f"{name}.py": "9" for name in "abcdef"[:more]}
    sentence = asks(found(CodeFiles(files={**CODE, **new}), journal=[TRUSTED])) or ""
    assert ": a.py is new, b.py is new, c.py is new, d.py is new" in sentence
    assert sentence.endswith(end)


def test_a_mirror_that_the_playbook_itself_names() -> None:
    mirrored = KIMI.with_overrides(env=["HF_ENDPOINT=https://bob:hushed@mirror/"])
    there = found(fetched=manifest(endpoint="https://mirror"))
    assert asks(there, mirrored) is None
    assert "fetched from https://mirror" in (asks(there) or "")
    assert asks(found(fetched=manifest(endpoint="https://other")), mirrored) is not None


def test_a_folder_that_an_option_names() -> None:
    assert "not fetched by deploy" in (asks(found(), other_folder=True) or "")
    assert asks(found(fetched=manifest()), other_folder=True) is None
    assert asks(found(journal=[{**TRUSTED, "commit": None}]), other_folder=True) is None


def test_a_commit_in_the_playbook() -> None:
    model = KIMI.model.model_copy(update={"revision": DEF})
    pinned = KIMI.model_copy(update={"model": model})
    assert asks(found(fetched=manifest(commit=DEF), journal=[TRUSTED]), pinned) is None
    assert "are those of abc000000000, not of def000000000" in (asks(found(fetched=manifest()), pinned) or "")


@pytest.mark.parametrize(
    "arguments",
    [
        {"tokenizer": "org/tokens"},
        {"hf-config-path": "/srv/config"},
        {"speculative-config": {"model": "org/draft", "num_speculative_tokens": 3}},
        {"hf-overrides": {"auto_map": {"AutoModel": "evil--m.M"}}},
        {"hf-overrides.auto_map.AutoModel": "evil--m.M"},
        {"hf-overrides": r'{"auto_m\u0061p": {"AutoModel": "evil--m.M"}}'},
        {"hf-config-p": "/srv/config"},
        {"speculative-config.model": "org/draft"},
        {"spec": '{"model": "org/draft"}'},
    ],
)
def test_what_the_command_names_beside_the_model(arguments: dict[str, Any]) -> None:
    named = KIMI.model_copy(update={"arguments": {**KIMI.arguments, **arguments}})
    assert "no commit binds" in (asks(found(), named) or "")
    assert asks(found(), named, consents=("trust-remote-code",)) is None


def test_what_is_pinned_beside_the_model() -> None:
    for pinned in (
        {"tokenizer": "org/tokens", "tokenizer-revision": ABC},
        {"speculative-config": {"model": "org/draft", "revision": ABC}},
        {"speculative-config": {"method": "mtp", "num_speculative_tokens": 1}},
    ):
        assert asks(found(), KIMI.model_copy(update={"arguments": {**KIMI.arguments, **pinned}})) is None


def test_it_goes_on_record_once() -> None:
    first = make_plan("gpu7", KIMI, found(fetched=manifest()), Wishes())
    assert first.trusted is not None and first.trusted.as_json() == TRUSTED
    assert make_plan("gpu7", KIMI, found(fetched=manifest(), journal=[TRUSTED]), Wishes()).trusted is None
    plain = KIMI.model_copy(update={"arguments": {}})
    assert make_plan("gpu7", plain, found(fetched=manifest()), Wishes()).trusted is None
