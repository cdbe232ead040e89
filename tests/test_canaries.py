"""Secrets of every form at every place, over a real sshd: none is in any output, record, bundle or cache.

The launch's log is the engine's own, byte for byte, and the one exception.
"""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import stand_in
from tests.deploy import Left
from tests.deployments import Case
from tests.hub import Hub
from tests.on_host.secrets.test_secrets import BODY, FORMS, PEM, PLACES
from tests.sshd import Settings, Sshd, end_sshd, launch_sshd

NAMED = "ambient-CANARY-without-a-form"
NEEDLES = (*FORMS, BODY, "Q2FuYXJ5", "CANARY", base64.b64encode(NAMED.encode()).decode()[:24])
STARTING = "    server.start_engine()\n    server.serve()\n"
FAILING = """
    for number, text in enumerate(open({file!r}).read().split("\\0")):
        (raw if number % 2 else lambda name, text: say(name, "ERROR", "core.py:1", text))(NAME, text)
    words = open({file!r}).read().replace("\\0", " ").replace("\\n", " ")
    key = os.environ["VLLM_API_KEY"]
    import base64
    coded = base64.b64encode(key.encode()).decode()
    raw(NAME, traceback([("vllm/x.py", 1, "f", "g()")], f"ValueError: the gadget said {{key}} {{coded}} {{words}}"))
    sys.exit(1)
"""


@pytest.fixture(scope="module")
def speaking(tmp_path_factory: pytest.TempPathFactory) -> stand_in.StandIn:
    """An engine whose log is full of secrets, and which fails of a cause that is full of them."""
    folder = tmp_path_factory.mktemp("speaking")
    words = folder / "words"
    words.write_text("\0".join([*FORMS, *(text for text, _ in PLACES), PEM]))
    engine = stand_in.make(folder / "vllm-0.16.0")
    (program,) = engine.folder.glob("lib/*/site-packages/vllm/stand_in/api_server.py")
    text = program.read_text()
    assert STARTING in text
    program.write_text(text.replace(STARTING, FAILING.format(file=str(words))))
    return engine


@pytest.fixture(scope="module")
def speaking_server(speaking: stand_in.StandIn) -> Iterator[Sshd]:
    environment = {"PATH": speaking.path, "DB_PASS": "CANARYhost", "HOST_MIRROR": "https://u:CANARY@host/"}
    running = launch_sshd(Settings(environment=environment))
    yield running
    end_sshd(running)


def written(folder: Path) -> str:
    """All that is in the files below a folder, bundles unpacked, logs of launches left out."""
    texts = []
    for path in folder.rglob("*"):
        if path.is_symlink() or not path.is_file() or path.name == "vllm.log":
            continue
        texts.append(f"{path.name}\n")
        if path.name.endswith(".tar.gz"):
            with tarfile.open(path) as bundle:
                members = [bundle.extractfile(member) or io.BytesIO() for member in bundle]
                texts += [member.read().decode(errors="replace") for member in members]
        else:
            texts.append(path.read_bytes().decode(errors="replace"))
    return "".join(texts)


def require_none(what: str, text: str) -> None:
    for needle in NEEDLES:
        at = text.find(needle)
        assert at < 0, f"{needle} is in {what}: ...{text[max(0, at - 200) : at + 60]!r}"


def options(case: Case) -> list[str]:
    """Secrets as a person may pass them: by the environment alone, in a value, in a setting."""
    given = [
        "--env",
        "VLLM_API_KEY",
        "--env",
        "DB_PASS=CANARYpass",
        "--env=SENTRY_DSN=https://CANARY@o1.sentry.io/1",
    ]
    given += ["--env", "PIP_INDEX_URL=https://bob:CANARYpip@mirror.example/simple"]
    given += ["--env", "NO_SCHEME_PROXY=bob:CANARYproxy@proxy.example:3128"]
    given += ["--set", "environment.DATABASE_LINK=postgres://u:CANARYdb@db/x"]
    given += [word for number, form in enumerate(FORMS) for word in ("--env", f"PLAIN_{number}={form}")]
    case.content["environment"] = {
        "HF_ENDPOINT": case.hub.endpoint.replace("://", "://bob:CANARYhub@"),
        "AMQP": {"value": "amqp://u:CANARYmq@mq/", "reason": "of somebody, see https://u:CANARY@wiki/"},
    }
    case.write()
    case.deploy.environment = {"VLLM_API_KEY": NAMED, "AWS_SECRET_ACCESS_KEY": "CANARYambient"}
    return given


def test_of_a_launch_that_fails_for_an_unknown_cause(
    speaking: stand_in.StandIn, speaking_server: Sshd, repositories: Path, tmp_path: Path
) -> None:
    with Hub(repositories) as hub:
        case = Case("canaries", speaking_server, speaking, hub, tmp_path)
        given = options(case)
        left: dict[str, Left] = {}
        for words, code in (
            (("plan", "PLAYBOOK"), 0),
            (("plan", "PLAYBOOK", "--json"), 0),
            (("PLAYBOOK", "-v"), 7),
            (("PLAYBOOK", "--json", "-v"), 7),
            (("remediate", "PLAYBOOK"), 7),
            (("status", "PLAYBOOK"), 0),
            (("status", "PLAYBOOK", "--json"), 0),
            (("history", "PLAYBOOK"), 0),
            (("history", "PLAYBOOK", "--json"), 0),
            (("logs", "PLAYBOOK", "--explain"), 7),
            (("logs", "PLAYBOOK", "--explain", "--json"), 7),
            (("restart", "PLAYBOOK", "--engine-arg", "otlp-traces-endpoint=http://u:CANARY@h:4317"), 2),
            (("PLAYBOOK", "--timeout", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"), 2),
            (("PLAYBOOK", "--set", "port=ghp_16C7e42F292c6912E7710c838347Ae178B4a"), 2),
            (
                (
                    "PLAYBOOK",
                    "--set",
                    "listen=https://user:a-long-CANARY-that-is-cut-where-messages-are-cut@host/",
                ),
                2,
            ),
            (("stop", "PLAYBOOK"), 0),
        ):
            left[" ".join(words)] = done = case.deploy(*words, *given)
            assert done.code == code, (words, done.out, done.err)
        log = (case.state / "launches/1/vllm.log").read_bytes()
        assert NAMED.encode() in log and BODY.encode() in log
        left["diagnose"] = diagnosed(case, case.state / "launches/1/vllm.log")
        case.content["model"] = {"repository": "deploy-tests/nowhere"}
        case.content["checkpoint"] = {"folder": str(tmp_path / "elsewhere")}
        case.write()
        left["no repository"] = case.deploy("PLAYBOOK", "-v", *given)
        assert left["no repository"].code == 5, left["no repository"].err
    for words, done in left.items():
        require_none(f"the output of {words}", done.out + done.err)
    require_none("the host's state", written(case.state))
    require_none("this machine's files", written(case.home))
    assert len(list(case.home.rglob("*.tar.gz"))) >= 2  # of the launch, and of the log that was diagnosed


def diagnosed(case: Case, log: Path) -> Left:
    """Of a file on this machine: what is known are forms, places and this machine's own variables."""
    argv = [sys.executable, "-m", "orchestrator.cli.main", "diagnose", str(log), "--json", "--bundle"]
    done = subprocess.run(
        argv, env=case.deploy.whole_environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 7, done.stderr
    return Left(done.returncode, done.stdout, done.stderr)


def test_of_a_launch_that_is_healthy(case: Case) -> None:
    given = options(case)
    case.deploy.environment = {**case.deploy.environment, "HF_TOKEN": "hf_abcdefghijklmnopCANARY"}
    first = case.deploy("PLAYBOOK", *given)
    assert first.code == 0, first.out + first.err
    assert "--env PIP_INDEX_URL" in first.out  # what to type next takes the value from the environment
    again = case.deploy("PLAYBOOK", *given, "--set", "context=128")
    assert again.code == 0
    assert "the running launch differs" in again.out + again.err
    command = (case.state / "launches/1/command.json").read_text()
    assert "PIP_INDEX_URL" in command  # by its name
    environment = process_environment(case)
    assert b"PIP_INDEX_URL=https://bob:CANARYpip@mirror.example/simple" in environment
    for done in (
        first,
        again,
        *(case.deploy(verb, "PLAYBOOK", *given) for verb in ("status", "history", "stop")),
    ):
        require_none("an output", done.out + done.err)
    require_none("the host's state", written(case.state))
    require_none("this machine's files", written(case.home))


def process_environment(case: Case) -> bytes:
    record = json.loads((case.state / "launches/1/process.json").read_text())
    return Path(f"/proc/{record['pid']}/environ").read_bytes()
