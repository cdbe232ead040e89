"""Whether hosts have the same checkpoint: which file, which key, which values."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from orchestrator.checks.between import flags, folders
from orchestrator.checks.between.folders import CheckpointFolder

CONFIG = {"architectures": ["A"], "text_config": {"rms_norm_eps": 1e-06, "heads": 4}}
HERE = CheckpointFolder("/m", {"config.json": json.dumps(CONFIG).encode()}, 590_000_000_000, "a" * 40)


def having(**changes: object) -> bytes:
    return json.dumps({**CONFIG, "text_config": {**CONFIG["text_config"], **changes}}).encode()  # type: ignore[dict-item]


def test_the_key_is_named_with_both_values() -> None:
    odd = replace(HERE, path="/data/m", files={"config.json": having(rms_norm_eps=1e-05)})
    (check,) = folders.check({"a": HERE, "b": odd})
    assert (check.verdict, check.code, check.known) == (
        "fail",
        "files_differ",
        {"consent": "differing-files"},
    )
    assert check.sentence == (
        "config.json on b is not that of a, which no engine notices: text_config.rms_norm_eps 1e-05 on b, 1e-06 on a "
        "(--consent differing-files takes it as it is)"
    )
    assert check.mend == "scp -3 a:/m/config.json b:/data/m/config.json"
    (taken,) = folders.check({"a": HERE, "b": odd}, consented=True)
    assert (taken.verdict, taken.code) == ("warn", "")


def test_the_one_that_most_hosts_have_is_the_usual_one() -> None:
    odd = replace(HERE, files={"config.json": having(rms_norm_eps=1e-05)})
    (check,) = folders.check({"a": odd, "b": HERE, "c": HERE})
    assert check.sentence.startswith("config.json on a is not that of b and c")


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        (b'{"a": 1}', b'{ "a": 1 }', None),
        (b'{"a": 1}', b'{"a": 1, "b": {}}', "b {} on y, absent on x"),
        (b'{"a": 1}', b'{"a": true}', "a true on y, 1 on x"),
        (b'{"a": [1, 2]}', b'{"a": [2]}', "a [2] on y, [1, 2] on x"),
        (b'{"a": "%s"}' % (b"x" * 99), b'{"a": ""}', f'a "" on y, "{"x" * 56}... on x'),
        (b"{}", b'{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}', "a 1 on y, absent on x; b 2 on y, absent on x; c 3 on y, absent on x; and 2 more keys"),
        (b"{}", None, "y has none"),
    ],
)  # fmt: skip
def test_how_two_files_differ(one: bytes, other: bytes | None, told: str | None) -> None:
    assert folders.differences(one, other, "x", "y") == told


def test_other_bytes_that_say_the_same_are_told_and_no_more() -> None:
    odd = replace(HERE, files={"config.json": json.dumps(CONFIG, indent=1).encode()})
    (check,) = folders.check({"a": HERE, "b": odd})
    assert check.verdict == "warn"


@pytest.mark.parametrize(
    ("odd", "verdict", "words"),
    [
        (replace(HERE, weights_bytes=1), "fail", "weights of 590 GB (590,000,000,000 B) on a, 1 B (1 B) on b"),
        (replace(HERE, commit="b" * 40), "warn", "fetched from different commits: aaaaaaaaaaaa on a, bbbbbbbbbbbb on b"),
        (HERE, "pass", "the same config files of aaaaaaaaaaaa on all"),
        (replace(HERE, weights_bytes=None), "pass", "the same config files"),
    ],
)  # fmt: skip
def test_sizes_and_commits(odd: CheckpointFolder, verdict: str, words: str) -> None:
    (check,) = folders.check({"a": HERE, "b": odd})
    assert (check.verdict, check.sentence[: len(words)]) == (verdict, words)


def test_what_is_fetched_later_is_compared_with_nothing() -> None:
    assert list(folders.check({"a": HERE, "b": CheckpointFolder("/m", {})})) == []


@pytest.mark.parametrize(
    ("name", "mend"), [("u@b:22", None), ("local", "scp -3 a:/m/config.json /m/config.json")]
)
def test_a_file_is_copied_by_what_scp_understands(name: str, mend: str | None) -> None:
    odd = replace(HERE, files={"config.json": having(heads=8)})
    (check,) = folders.check({"a": HERE, name: odd})
    assert check.mend == mend


def test_options_that_differ_are_listed() -> None:
    same = {"max-model-len": "256", "enforce-eager": "True"}
    assert list(flags.check({"a": same, "b": dict(same)})) == []
    (check,) = flags.check({"a": same, "b": {"max-model-len": "128"}})
    assert (check.code, check.sentence) == (
        "options_differ",
        "max-model-len 256 on a, 128 on b; enforce-eager True on a, not given on b",
    )
