"""Patch files: what they may say, and where a patch is certain before a failure was seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.base.data_folders import shipped
from orchestrator.base.errors import UsageError
from orchestrator.patches import catalogue
from orchestrator.patches.known import Known
from orchestrator.patches.patch import Patch
from tests.of_each import of_each

SHIPPED = catalogue.load([shipped("patches")])
GOOD = """\
id: mine
title: A failure of mine
category: other
match:
  - {exception: MyError, pattern: 'need (?P<length>[0-9]{1,9})'}
remedy:
  - {kind: flag, name: --max-model-len, op: set, value: "{length}"}
"""


def flagship() -> Patch:
    return next(patch for patch in SHIPPED if patch.id == "fp8-kv-mla")


def refused(tmp_path: Path, text: str) -> str:
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(UsageError) as caught:
        catalogue.load([tmp_path])
    assert caught.value.code == "invalid_patch"
    return caught.value.message.replace(str(tmp_path) + "/", "")


@pytest.mark.parametrize(
    ("vllm", "cap", "attention", "certain"),
    [
        ("0.16.0", "12.0", "mla", True),
        ("0.14.0", "12.1", "mla", True),
        ("0.17.1", "12.0", "mla", True),
        ("0.16.0+cu129", "12.0", "mla", True),
        ("0.16.0rc2", "12.0", "mla", True),
        ("0.14.0rc1", "12.0", "mla", True),
        ("0.13.0", "12.0", "mla", False),
        ("0.18.0", "12.0", "mla", False),
        ("0.18.0rc1", "12.0", "mla", False),
        ("0.16.0", "10.0", "mla", False),
        ("0.16.0", "9.0", "mla", False),
        ("0.16.0", "12.0", "sparse_mla", False),
        ("0.16.0", "12.0", "gqa", False),
        (None, "12.0", "mla", False),
        ("0.16.0", None, "mla", False),
        ("0.16.0", "12.0", None, False),
        ("nightly", "12.0", "mla", False),
    ],
)
def test_the_window_of_the_flagship(
    vllm: str | None, cap: str | None, attention: str | None, certain: bool
) -> None:
    window = flagship().window[0]
    assert window is not None
    for dtype, quantised in (
        ("fp8_e4m3", True),
        ("fp8", True),
        ("nvfp4", True),
        ("auto", False),
        (None, False),
    ):
        engine = {"kv_cache_dtype": dtype} if dtype else {}
        known = Known(kind="vllm", version=vllm, compute_cap=cap, attention=attention, engine=engine)
        assert known.hold(window) is (certain and quantised)


def test_a_window_says_where(tmp_path: Path) -> None:
    assert "mine.yaml:8: window: is empty" in refused(tmp_path, f"{GOOD}window: {{}}\n")


def test_the_flagships_remedy_never_asks_for_another_kv_dtype() -> None:
    actions = [action for way in flagship().remedy for action in way.do]
    assert [(action.kind, action.op) for action in actions if action.name == "--kv-cache-dtype"] == [
        ("flag", "remove")
    ]
    required = [action for action in actions if "/quantization/kv_cache_quant_algo" in action.path]
    assert [(action.file, action.op, action.value) for action in required] == [
        ("config.json", "set", None),
        ("hf_quant_config.json", "set", None),
    ]


PATTERN = "need (?P<length>[0-9]{1,9})"


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(?:a|a)*$",
        ".*need.*of.*length",
        r"need (?:\w+ ?)*tokens",
        "need [a-z]+[a-z]+[a-z]+ tokens",
        "(?<=need (a+)+)b",
        "a{99999999999999999999}",
        "(" * 5000 + "a" + ")" * 5000,
        "a" * 20_000,
        "[[a]b]",
        "(?<=a+)b",
    ],
)
@pytest.mark.parametrize("key", ["pattern", "line", "log", "not_log"])
def test_an_expression_that_can_hang_is_refused_where_it_stands(
    tmp_path: Path, key: str, pattern: str
) -> None:
    wrong = f"match:\n  - exception: MyError\n    {key}: '{pattern}'\n"
    said = refused(tmp_path, f"id: mine\ntitle: Mine\ncategory: other\n{wrong}")
    assert said.startswith(f"mine.yaml:6: match.0.{key}")
    assert len(said) < 1000


def test_the_error_says_what_to_write_instead(tmp_path: Path) -> None:
    said = refused(tmp_path, GOOD.replace(PATTERN, "(a+)+$ need (?P<length>[0-9]+)"))
    assert "countless steps on a text of 6000 letters, of which 20,000,000 are allowed" in said
    assert "`.{0,200}` for `.*`" in said


@pytest.mark.parametrize("group", [r"\S{1,80}", ".{1,80}", "[^,]{1,80}", r"\w{1,4000}"])
def test_a_value_is_never_any_text_of_the_log(tmp_path: Path, group: str) -> None:
    said = refused(tmp_path, GOOD.replace("[0-9]{1,9}", group))
    assert "a remedy needs {length}, which can be any text that somebody wrote into the log" in said
    assert "(?P<length>[\\w.-]{1,80})" in said


def test_a_number_that_only_a_formula_reads_needs_no_form(tmp_path: Path) -> None:
    worked_out = GOOD.replace('value: "{length}"', 'formula: "floor(length, 16)"')
    (tmp_path / "mine.yaml").write_text(worked_out.replace("[0-9]{1,9}", "[^,]{1,80}"))
    catalogue.load([tmp_path])


def test_a_line_is_looked_for_so_often_that_less_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        GOOD.replace(PATTERN, "needed (?P<length>[0-9]{1,9}) tokens.{0,900}given")
    )
    catalogue.load([tmp_path])
    line = GOOD.replace(
        f"exception: MyError, pattern: '{PATTERN}'", "line: 'needed length.{0,900}(?:given|asked|wanted)'"
    )
    assert "5,000,000 are allowed" in refused(tmp_path, line)


def test_many_expressions_together_are_bounded_too(tmp_path: Path) -> None:
    ways = "".join(f"  - pattern: 'needed length {number}.*given'\n" for number in range(100))
    said = refused(tmp_path, f"id: mine\ntitle: Mine\ncategory: other\nmatch:\n{ways}")
    assert "its 100 expressions can take" in said


@of_each(SHIPPED, lambda patch: patch.id)
def test_a_shipped_patch_explains_itself(patch: Patch) -> None:
    assert patch.explanation
    assert patch.evidence


@of_each(sorted(shipped("patches").rglob("*.yaml")), lambda path: path.stem)
def test_a_shipped_patch_lies_in_the_folder_of_its_category(path: Path) -> None:
    (patch,) = (patch for patch in SHIPPED if patch.id == path.stem)
    assert path.parent == shipped("patches") / patch.category


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("title:", "titel:", "mine.yaml:2: titel: is not a known key, did you mean title?"),
        ("category: other", "category: othr", "mine.yaml:3: category: 'othr' is not one of the known values, did you mean other?"),
        ("exception:", "exeption:", "mine.yaml:5: match.0.exeption: is not a known key, did you mean exception?"),
        ("(?P<length>", "(?P<length", "mine.yaml:5: match.0.pattern: 'need (?P<length[0-9]{1,9})' is no regular expression"),
        ("kind: flag", "kind: flags", "mine.yaml:7: remedy.0.kind: 'flags' is not one of the known values"),
        (", op: set", "", "mine.yaml:7: remedy.0: flag needs an op; allowed: set, remove"),
        ("{length}", "{size}", "a remedy needs {size}, which no match's pattern names"),
        ("id: mine", "id: yours", "mine.yaml:1: id: is yours; allowed: mine, the name of the file"),
        ("exception: MyError, pattern: 'need (?P<length>[0-9]{1,9})'", "process: Worker", "mine.yaml:5: match.0: recognises nothing by itself"),
        ("category: other", "category: other\nwindow: {vllm: 0.16}", "mine.yaml:4: window.vllm: 0.16 is wrong; allowed: a valid string"),
        ("category: other", "category: other\nwindow: {vllm: new}", "mine.yaml:4: window.vllm: 'new' is no version specifier"),
        ("kind: flag, name: --max-model-len, op: set, value: \"{length}\"", "kind: config, edit: drop", "mine.yaml:7: remedy.0.edit: is not a known key"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    assert said in refused(tmp_path, GOOD.replace(old, new))
