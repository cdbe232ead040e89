"""load_model names file, line and key."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict

from orchestrator.base.errors import UsageError
from orchestrator.base.yaml_file import load_model


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Needs(Strict):
    gpus: int
    memory: float = 0.0


class Step(Strict):
    kind: Literal["flag", "config"]
    name: str | None = None


class Sample(Strict):
    title: str
    needs: Needs
    steps: tuple[Step, ...] = ()
    extra: dict[str, Needs] = {}
    date: str = ""


GOOD = "title: a\nneeds: {gpus: 8}\nsteps:\n  - {kind: flag, name: x}\n"


def refused(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "a.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as caught:
        load_model(path, Sample, code="invalid_sample")
    assert caught.value.code == "invalid_sample"
    return caught.value.message.replace(str(path), "FILE")


def test_a_good_file_becomes_the_model(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(GOOD + "date: 2026-02-25\n")
    sample = load_model(path, Sample, code="x")
    assert sample.needs.gpus == 8
    assert sample.steps == (Step(kind="flag", name="x"),)
    assert sample.date == "2026-02-25"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "title: a\nneeds:\n  gpus: 8\n  memorry: 3\n",
            "FILE:4: needs.memorry: is not a known key, did you mean memory?; allowed: gpus, memory",
        ),
        (
            GOOD + "titel: b\n",
            "FILE:5: titel: is not a known key, did you mean title?; allowed: title, needs, steps",
        ),
        ("title: a\nneeds: {}\n", "FILE:2: needs.gpus: is missing"),
        ("title: a\n", "FILE:1: needs: is missing"),
        (
            "title: a\nneeds: {gpus: 1}\nsteps:\n  - kind: flag\n  - kind: flags\n",
            "FILE:5: steps.1.kind: 'flags' is not one of the known values, did you mean flag?; allowed: flag, config",
        ),
        ("title: a\nneeds: {gpus: many}\n", "FILE:2: needs.gpus: 'many' is wrong; allowed: a valid integer"),
        ("title: a\nneeds: {gpus: 1}\ntitle: b\n", "FILE:3: title: is given twice; allowed: once"),
        ("title: a\nneeds: {gpus: 1\n", "is not valid YAML"),
        ("- a\n", "FILE:1: holds a list; allowed: a mapping"),
        ("", "FILE:1: holds nothing; allowed: a mapping"),
        ("x: " + "[" * 400 + "]" * 400 + "\n", "FILE:1: is nested too deep; allowed: 40 levels"),
        (b"title: \xff\n", "FILE: is not UTF-8 text (byte 7)"),
        (
            "title: a\nneeds: {gpus: 1}\nextra:\n  one: {gpu: 1}\n",
            "FILE:4: extra.one.gpu: is not a known key, did you mean gpus?; allowed: gpus, memory",
        ),
    ],
)
def test_a_mistake_names_line_and_key(tmp_path: Path, text: str | bytes, said: str) -> None:
    assert said in refused(tmp_path, text)


def test_every_mistake_is_named_in_the_order_of_the_file(tmp_path: Path) -> None:
    lines = refused(tmp_path, "needs: {gpus: x}\ntitel: a\n").splitlines()
    assert [line.split(": ")[1] for line in lines] == ["needs.gpus", "title", "titel"] or [
        line.split(": ")[1] for line in lines
    ] == ["title", "needs.gpus", "titel"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.yaml: missing"):
        load_model(tmp_path / "none.yaml", Sample, code="x")


def test_the_next_command_opens_the_file_where_it_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "my model.yaml"
    for text, at in (("name: x\ncolour: [", "+2 "), ("- a\n", "+1 "), ("a: \udcff", "")):
        path.write_bytes(text.encode(errors="surrogateescape"))
        with pytest.raises(UsageError) as caught:
            load_model(path, Empty, code="invalid")
        assert caught.value.next_command == f"${{EDITOR:-vi}} {at}'{path}'"
    with pytest.raises(UsageError) as caught:
        load_model(tmp_path / "none.yaml", Empty, code="invalid")
    assert caught.value.next_command == f"ls -l {tmp_path}"


class Empty(BaseModel):
    """A model without a key."""
