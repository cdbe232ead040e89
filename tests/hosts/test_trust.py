from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.base.errors import HostError, UsageError
from orchestrator.hosts.config import Resolved
from orchestrator.hosts.known_hosts import HostKey, parse
from orchestrator.hosts.trust import KeyStanding, check, judge, preferred_types, read_fingerprints

KEY = HostKey("ssh-ed25519", b"the key")
OTHER = HostKey("ssh-ed25519", b"another key")
RSA = HostKey("ssh-rsa", b"an rsa key")
HOST = Resolved(hostname="gpu", port=2222, user="ada")


def line(names: str, key: HostKey = KEY, marker: str = "") -> str:
    return f"{marker} {names} {key.kind} {base64.b64encode(key.blob).decode()}".strip() + "\n"


@pytest.mark.parametrize(
    ("text", "host", "standing"),
    [
        ("", HOST, KeyStanding.UNKNOWN),
        (line("[gpu]:2222"), HOST, KeyStanding.KNOWN),
        (line("gpu"), HOST, KeyStanding.KNOWN),
        (line("gpu", OTHER), HOST, KeyStanding.UNKNOWN),
        (line("[gpu]:2222", OTHER), HOST, KeyStanding.CHANGED),
        (line("[gpu]:2222", OTHER) + line("[gpu]:2222"), HOST, KeyStanding.KNOWN),
        (line("[gpu]:2222", OTHER) + line("gpu"), HOST, KeyStanding.CHANGED),
        (line("[gpu]:2222", RSA), HOST, KeyStanding.OTHER_TYPE),
        (line("[gpu]:2222") + line("*", KEY, "@revoked"), HOST, KeyStanding.REVOKED),
        (line("[gpu]:2222") + line("elsewhere", KEY, "@revoked"), HOST, KeyStanding.KNOWN),
        (line("[gpu]:2222", KEY, "@cert-authority"), HOST, KeyStanding.UNKNOWN),
        (line("box"), replace(HOST, host_key_alias="box"), KeyStanding.KNOWN),
        (line("[gpu]:2222"), replace(HOST, host_key_alias="box"), KeyStanding.UNKNOWN),
        (line("gpu", OTHER), replace(HOST, port=22), KeyStanding.CHANGED),
    ],
)
def test_standing(text: str, host: Resolved, standing: KeyStanding) -> None:
    assert judge(tuple(parse("f", text)), host, KEY).standing is standing


def test_known_types_are_asked_for_first() -> None:
    entries = tuple(parse("f", line("gpu", RSA) + line("[gpu]:2222") + line("other", HostKey("x", b"x"))))
    assert preferred_types(entries, HOST) == ("ssh-rsa", "ssh-ed25519")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "known_hosts"


def with_file(file: Path, **settings: object) -> Resolved:
    return replace(HOST, user_known_hosts=(str(file),), **settings)  # type: ignore[arg-type]


def test_an_unknown_key_is_refused_and_not_recorded(file: Path) -> None:
    with pytest.raises(HostError) as caught:
        check(with_file(file), KEY, [OTHER.fingerprint])
    error = caught.value
    assert error.code == "host_key_unknown"
    assert "[gpu]:2222" in error.message
    assert "ssh-ed25519" in error.message
    assert KEY.fingerprint in error.message
    assert error.known == {"fingerprint": KEY.fingerprint}
    assert not file.exists()


def test_an_accepted_key_is_recorded_once(file: Path) -> None:
    check(with_file(file), KEY, [OTHER.fingerprint, KEY.fingerprint])
    check(with_file(file), KEY, [KEY.fingerprint])
    assert file.read_text() == line("[gpu]:2222")


def test_configuration_that_accepts_new_keys(file: Path) -> None:
    accepting = with_file(file, strict_host_key_checking="accept-new")
    check(accepting, KEY, [])
    assert file.read_text() == line("[gpu]:2222")
    with pytest.raises(HostError) as caught:
        check(accepting, OTHER, [])
    assert caught.value.code == "host_key_changed"
    with pytest.raises(HostError) as caught:
        check(accepting, RSA, [])
    assert caught.value.code == "host_key_unknown"
    assert f"{file}:1" in caught.value.message


@pytest.mark.parametrize("strictness", ["no", "ask", "yes"])
def test_no_other_configuration_accepts_an_unknown_key(file: Path, strictness: str) -> None:
    with pytest.raises(HostError) as caught:
        check(with_file(file, strict_host_key_checking=strictness), KEY, [])
    assert caught.value.code == "host_key_unknown"
    assert KEY.fingerprint in caught.value.message
    assert caught.value.known == {"fingerprint": KEY.fingerprint}
    assert not file.exists()
    check(with_file(file, strict_host_key_checking=strictness), KEY, [KEY.fingerprint])
    assert file.read_text() == line("[gpu]:2222")


def test_a_changed_key_is_refused_even_when_accepted(file: Path) -> None:
    file.parent.mkdir()
    file.write_text("# one\n" + line("[gpu]:2222", OTHER))
    with pytest.raises(HostError) as caught:
        check(with_file(file), KEY, [KEY.fingerprint])
    assert caught.value.code == "host_key_changed"
    assert f"{file}:2" in caught.value.message
    assert OTHER.fingerprint in caught.value.message
    assert file.read_text() == "# one\n" + line("[gpu]:2222", OTHER)


def test_a_revoked_key_is_refused_even_when_accepted(file: Path) -> None:
    file.parent.mkdir()
    file.write_text(line("*", KEY, "@revoked"))
    with pytest.raises(HostError) as caught:
        check(with_file(file), KEY, [KEY.fingerprint])
    assert caught.value.code == "host_key_revoked"


def test_no_file_to_record_in() -> None:
    check(replace(HOST, user_known_hosts=("/dev/null",)), KEY, [KEY.fingerprint])


def test_fingerprints_are_read_strictly() -> None:
    assert read_fingerprints([KEY.fingerprint]) == (KEY.fingerprint,)
    for text in ["", "SHA256:", KEY.fingerprint[:-1], KEY.fingerprint[7:], "MD5:aa:bb"]:
        with pytest.raises(UsageError):
            read_fingerprints([text])
