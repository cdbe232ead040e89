"""What a person meets who gives a wrong command, host, model or machine: one clear error, and nothing has changed there."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from orchestrator.facts import gpu_processes, gpus, topology
from tests import stand_in
from tests.deploy import Left
from tests.hub import Hub
from tests.sshd import NoSshd, Settings, Sshd, end_sshd, launch_sshd, plain_user
from tests.test_deployment import REPOSITORY, Case, free_port
from tests.test_deployment import engine as engine
from tests.test_deployment import plain_case as plain_case
from tests.test_deployment import plain_engine as plain_engine
from tests.test_deployment import plain_server as plain_server
from tests.test_deployment import repositories as repositories

Program = Callable[[str, str], None]
"""Puts a shell script in a program's place on the host."""
NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def first_on_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of programs that the host finds before all others; empty but for what a test puts there."""
    return tmp_path_factory.mktemp("first")


@pytest.fixture(scope="module")
def server(engine: stand_in.StandIn, first_on_path: Path) -> Iterator[Sshd]:
    running = launch_sshd(Settings(environment={"PATH": f"{first_on_path}:{engine.path}"}))
    yield running
    end_sshd(running)


@pytest.fixture
def program(first_on_path: Path) -> Iterator[Program]:
    """Puts a shell script in a program's place on the host, for one test."""
    made: list[Path] = []

    def put(name: str, script: str) -> None:
        path = first_on_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        made.append(path)

    yield put
    for path in made:
        path.unlink()


@pytest.fixture
def case(
    server: Sshd,
    engine: stand_in.StandIn,
    repositories: Path,
    tmp_path: Path,
) -> Iterator[Case]:
    with Hub(repositories) as hub:
        case = Case(f"bad-{next(NUMBERS)}", server, engine, hub, tmp_path)
        yield case
        if (case.state / "launches").exists() and case.actions()[-1] != "stop":
            case.deploy("stop", "PLAYBOOK")


@pytest.fixture
def whole(case: Case, repositories: Path) -> Case:
    """With the checkpoint in place already."""
    shutil.copytree(repositories / REPOSITORY, case.checkpoint)
    return case


def found_on(case: Case) -> dict[str, tuple[int, int, int, bytes | str]]:
    """Every file of the host's that a deployment may write but its lock, as it is: mode, owner, time, content."""
    found: dict[str, tuple[int, int, int, bytes | str]] = {}
    for root in (case.server.home, case.server.state_home, case.checkpoint):
        for path in (root, *root.rglob("*")) if root.exists() or root.is_symlink() else ():
            status = path.lstat()
            if path.name == "lock" or (path.is_dir() and not path.is_symlink()):
                continue
            small = path.is_file() and status.st_size < 1 << 20
            content: bytes | str = path.read_bytes() if small else os.fspath(path.resolve())
            found[str(path)] = (status.st_mode, status.st_uid, status.st_mtime_ns, content)
    return found


def refused(case: Case, *words: str, exit_code: int, code: str) -> dict[str, Any]:
    """Run the command, which must leave with this error, a next command, and everything as it was."""
    before = found_on(case)
    left = case.deploy(*(words or ("PLAYBOOK",)), "--json")
    assert left.code == exit_code, left.out + left.err
    error = the_error(left)
    assert error["code"] == code, error
    assert error["next"], error
    assert found_on(case) == before
    return error


def the_error(left: Left) -> dict[str, Any]:
    assert "Traceback" not in left.err
    (told,) = [json.loads(line) for line in left.out.splitlines() if '"event": "error"' in line]
    error: dict[str, Any] = told["error"]
    return error


class TestCommand:
    def test_an_unknown_playbook_has_near_names(self, case: Case) -> None:
        error = refused(case, "kimi-k25", exit_code=2, code="unknown_playbook")
        assert "did you mean kimi-k2.5" in error["message"]

    def test_an_invalid_playbook_is_told_by_file_line_and_key(self, case: Case) -> None:
        case.path.write_text("model:\n  served_name: x\ncontext: many\nprot: 2\n")
        error = refused(case, exit_code=2, code="invalid_playbook")
        told = [line.removeprefix(f"{case.path}:") for line in error["message"].splitlines()]
        assert told[0].startswith("1: model.repository: is missing")
        assert told[1].startswith("3: context: 'many' is wrong; allowed: a valid integer")
        assert told[2].startswith("4: prot: is not a known key, did you mean port?")
        assert error["next"].endswith(f"+1 {case.path}")

    def test_a_file_name_that_is_no_playbook_name(self, case: Case) -> None:
        case.path = case.path.rename(case.path.with_name("My Model.yaml"))
        case.deploy.playbook = case.path
        error = refused(case, exit_code=2, code="invalid_playbook")
        assert error["next"].endswith("/my-model.yaml")

    def test_a_wrong_option(self, case: Case) -> None:
        error = refused(case, "PLAYBOOK", "--set", "prot=1", exit_code=2, code="invalid_option")
        assert "did you mean port?" in error["message"]
        assert error["next"] == f"deploy show {case.path}"


class TestHost:
    """What stops a command before it has reached the host; `tests/ssh` has every shade of it."""

    @pytest.mark.parametrize("port", ["refused", "wrong"])
    def test_a_port_on_which_no_ssh_server_answers(self, case: Case, port: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as other:
            at = other.getsockname()[1] if port == "wrong" else free_port()
            threading.Thread(target=answer_as_another_protocol, args=(other,), daemon=True).start()
            reach(case, Port=str(at))
            error = refused(case, exit_code=3, code="host_unreachable")
            other.shutdown(socket.SHUT_RDWR)  # lets go of the thread
            assert f"port {at}" in error["message"]
            assert error["next"].startswith("ssh -v ")

    def test_no_such_host(self, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
        def unknown(*_: object, **__: object) -> object:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

        reach(case, HostName="nowhere.invalid")
        with monkeypatch.context() as patched:
            patched.setattr(socket, "getaddrinfo", unknown)
            error = refused(case, exit_code=3, code="host_unreachable")
        assert "nowhere.invalid port" in error["message"]

    def test_a_key_that_is_refused(self, case: Case, tmp_path: Path) -> None:
        reach(case, IdentityFile=str(case.server.folder / "host_key"))
        error = refused(case, exit_code=3, code="auth_refused")
        assert "ssh -v" in error["next"]

    def test_an_unknown_host_key(self, case: Case, tmp_path: Path) -> None:
        reach(case, UserKnownHostsFile=str(tmp_path / "none"))
        error = refused(case, exit_code=3, code="host_key_unknown")
        assert case.server.fingerprint in error["message"]
        assert case.server.fingerprint in error["next"]

    def test_a_changed_host_key(self, case: Case, tmp_path: Path) -> None:
        own = case.server.known_hosts_line().split()
        other = (case.server.folder / "client_key.pub").read_text().split()[1]
        (tmp_path / "known").write_text(f"{own[0]} {own[1]} {other}\n")
        reach(case, UserKnownHostsFile=str(tmp_path / "known"))
        error = refused(case, exit_code=3, code="host_key_changed")
        assert "ssh-keygen -R" in error["next"]

    def test_a_name_that_ssh_would_take_for_an_option(self, case: Case, tmp_path: Path) -> None:
        canary = tmp_path / "canary"
        case.deploy.server = cast(
            Sshd, SimpleNamespace(alias=f"-oProxyCommand=touch {canary}", ssh_config="")
        )
        assert case.deploy("PLAYBOOK").code == 2
        assert not canary.exists()

    def test_a_shell_that_prints_changes_nothing_of_the_answer(
        self, whole: Case, first_on_path: Path
    ) -> None:
        noise = "printf 'Welcome! \\033[1m'; echo rc noise >&2; "
        quoted = (noise + 'eval "$SSH_ORIGINAL_COMMAND"').replace('"', '\\"')
        quiet = json.loads(whole.deploy("plan", "PLAYBOOK", "--json").out)
        keys = whole.server.folder / "authorized_keys"
        before = keys.read_text()
        try:
            keys.write_text(f'command="{quoted}" {before}')
            noisy = json.loads(whole.deploy("plan", "PLAYBOOK", "--json").out)
        finally:
            keys.write_text(before)
        assert noisy == quiet


class TestPython:
    """The interpreter that runs our programs on the host."""

    def test_a_mute_one_is_passed_over_for_the_engines(self, whole: Case, program: Program) -> None:
        program("python3", "exit 0")
        left = whole.deploy("plan", "PLAYBOOK", "--json")
        assert left.code == 0, left.err
        assert json.loads(left.out)["engine"]["version"] == "0.16.0"

    @pytest.mark.parametrize(
        ("script", "code"),
        [
            ("exit 0", "host_python_missing"),
            ("exec /nowhere/python3", "host_python_missing"),
            (
                "for last; do :; done\n"
                f"PROGRAM=$last exec {sys.executable} -I -S -B -u -c 'import os, sys; "
                'sys.version_info = (3, 6, 9, "final", 0); exec(os.environ["PROGRAM"])\'',
                "host_python_old",
            ),
        ],
        ids=["mute", "missing", "old"],
    )
    def test_none_that_works(self, whole: Case, program: Program, script: str, code: str) -> None:
        program("python3", script)
        whole.content["engine"] = {"python": "python3"}
        whole.write()
        error = refused(whole, exit_code=3, code=code)
        assert "python3" in error["message"]
        assert "python3 --version" in error["next"]


class TestEngine:
    def test_a_version_outside_the_range(self, whole: Case, engine: stand_in.StandIn) -> None:
        whole.content["engine"] = {"python": engine.python, "version": ">=0.17,<0.20"}
        whole.write()
        error = refused(whole, exit_code=4, code="engine_version")
        assert "vLLM 0.16.0 is outside >=0.17,<0.20" in error["message"]
        assert error["next"].startswith(f"{engine.python} -m pip install 'vllm>=0.17,<0.20'")

    def test_no_vllm(self, whole: Case, tmp_path: Path) -> None:
        bare = stand_in.make(tmp_path / "bare", version="")
        whole.content["engine"] = {"python": bare.python}
        whole.write()
        error = refused(whole, exit_code=4, code="no_engine")
        assert f"vllm is not installed in {bare.python}" in error["message"]
        assert f"{bare.python} -m pip install" in error["next"]

    @pytest.mark.parametrize("script", [None, "exit 0"], ids=["missing", "mute"])
    def test_an_interpreter_that_is_none(
        self, whole: Case, program: Program, first_on_path: Path, script: str | None
    ) -> None:
        if script is not None:
            program("engine-python", script)
        whole.content["engine"] = {"python": str(first_on_path / "engine-python")}
        whole.write()
        error = refused(whole, exit_code=4, code="no_engine")
        assert "engine-python" in error["message"]
        assert error["next"].endswith("--set engine.python=PATH")


class TestCards:
    def test_no_nvidia_smi(self, whole: Case, engine: stand_in.StandIn) -> None:
        if shutil.which("nvidia-smi"):
            pytest.skip("this machine has a nvidia-smi of its own")
        real = engine.folder / "tools" / "nvidia-smi"
        away = real.rename(real.with_name("away"))
        try:
            error = refused(whole, exit_code=4, code="gpus_unknown")
        finally:
            away.rename(real)
        assert "nvidia-smi is not on the host's PATH" in error["message"]

    @pytest.mark.parametrize(
        ("script", "says"),
        [
            (
                'echo "NVIDIA-SMI has failed because it couldn\'t communicate with the NVIDIA driver."; exit 9',
                "the NVIDIA driver is not loaded",
            ),
            ("kill -SEGV $$", "Segmentation fault"),
            ("printf '\\377\\376\\033[31mgarbage\\n'", "garbage"),
        ],
        ids=["driver", "crash", "garbage"],
    )
    def test_a_nvidia_smi_that_fails(self, whole: Case, program: Program, script: str, says: str) -> None:
        program("nvidia-smi", script)
        error = refused(whole, exit_code=4, code="gpus_unknown")
        assert says in error["message"]
        assert error["next"].startswith("nvidia-smi")

    def test_a_nvidia_smi_that_hangs(
        self, whole: Case, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module, name in (
            (gpus, "COMMAND"),
            (topology, "COMMAND"),
            (topology, "P2P_COMMAND"),
            (gpu_processes, "COMMAND"),
        ):
            monkeypatch.setattr(module, name, replace(getattr(module, name), timeout=0.2))
        program("nvidia-smi", "exec sleep 30")
        error = refused(whole, exit_code=4, code="gpus_unknown")
        assert "0.2 s" in error["message"]

    def test_fewer_than_asked(self, whole: Case, program: Program, engine: stand_in.StandIn) -> None:
        program("nvidia-smi", f"'{engine.folder}/tools/nvidia-smi' \"$@\" | head -n 4")
        error = refused(whole, exit_code=4, code="gpus_missing")
        assert f"has 4 GPUs, {whole.name} needs 8" in error["message"]


class TestHub:
    def test_a_gated_repository(self, case: Case) -> None:
        case.hub.gated, case.hub.token = True, "granted"
        error = not_downloaded(case, code="hub_gated")
        assert REPOSITORY in error["message"]
        assert "hf auth login" in error["next"]

    def test_a_missing_repository(self, case: Case) -> None:
        case.content["model"] = {"repository": "deploy-tests/nothing"}
        case.write()
        error = not_downloaded(case, code="hub_not_found")
        assert "deploy-tests/nothing" in error["message"]
        assert error["next"] == f"deploy show {case.path}"

    def test_a_disk_that_is_too_small(self, case: Case) -> None:
        case.hub.claim["model-00001-of-00006.safetensors"] = 1 << 60
        error = not_downloaded(case, code="disk_full")
        assert str(case.checkpoint) in error["message"]
        assert error["next"].startswith("df -h")


BROKEN = {
    "empty": b"",
    "cut": b'{"model_type": "deepseek_v3",',
    "utf-16": '{"a": 1}'.encode("utf-16"),
    "bom": b'\xef\xbb\xbf{"a": 1}',
}


class TestConfig:
    """Verbs that never download say what is wrong; `up` fetches such a file again."""

    @pytest.mark.parametrize("kind", [*BROKEN, "missing", "huge", "folder"])
    def test_config_json_is_not_what_an_engine_reads(self, whole: Case, kind: str) -> None:
        spoil(whole.checkpoint / "config.json", kind)
        error = refused(whole, "remediate", "PLAYBOOK", exit_code=5, code="checkpoint_broken")
        assert "config.json: " in error["message"]
        assert error["next"].startswith(f"deploy {whole.path} --host ")

    @pytest.mark.parametrize("kind", ["cut", "huge", "folder"])
    def test_the_sidecar_alone_is_broken(self, whole: Case, kind: str) -> None:
        spoil(whole.checkpoint / "hf_quant_config.json", kind)
        alone = ("remediate", "PLAYBOOK", "--no-launch")
        error = refused(whole, *alone, exit_code=5, code="config_broken")
        assert "hf_quant_config.json " in error["message"]
        assert error["next"].startswith(f"deploy verify {whole.path}")

    def test_no_diff_of_what_is_not_there(self, whole: Case) -> None:
        (whole.checkpoint / "config.json").unlink()
        error = refused(whole, "remediate", "PLAYBOOK", "--no-launch", exit_code=5, code="config_missing")
        assert f"there is no config.json in {whole.checkpoint}" in error["message"]

    @pytest.mark.parametrize(
        ("name", "key"), [("config.json", "kv_cache_scheme"), ("hf_quant_config.json", "kv_cache_quant_algo")]
    )
    def test_a_key_that_stands_twice(self, whole: Case, name: str, key: str) -> None:
        path = whole.checkpoint / name
        before, found, after = path.read_text().partition(f'"{key}"')
        path.write_text(f'{before}"{key}": null, {found}{after}')
        error = refused(whole, exit_code=5, code="config_broken")
        assert f"{name} line " in error["message"] and f"'{key}' stands twice" in error["message"]
        assert str(whole.checkpoint) in error["next"]

    def test_line_ends_of_windows_are_kept(self, whole: Case) -> None:
        originals = {}
        for name in ("config.json", "hf_quant_config.json"):
            originals[name] = whole.config(name).replace(b"\n", b"\r\n")
            (whole.checkpoint / name).write_bytes(originals[name])
        left = whole.deploy("remediate", "PLAYBOOK", "--no-launch")
        assert left.code == 0, left.err
        for name, original in originals.items():
            lines = whole.config(name).splitlines(keepends=True)
            assert whole.config(name) != original
            assert all(line.endswith(b"\r\n") for line in lines[:-1])
        assert whole.deploy("revert", "PLAYBOOK").code == 0
        assert {name: whole.config(name) for name in originals} == originals


class TestFolder:
    def test_a_checkpoint_folder_that_is_a_file(self, case: Case) -> None:
        case.checkpoint.write_text("precious")
        error = not_downloaded(case, code="checkpoint_folder")
        assert f"{case.checkpoint} is a file" in error["message"]
        assert case.checkpoint.read_text() == "precious"
        error = refused(case, "remediate", "PLAYBOOK", exit_code=5, code="no_checkpoint")
        assert "is not a folder" in error["message"]

    def test_a_checkpoint_of_another_user(self, whole: Case) -> None:
        try:
            stranger = plain_user()
        except NoSshd as reason:
            pytest.skip(str(reason))
        for path in (whole.checkpoint, *whole.checkpoint.iterdir()):
            shutil.chown(path, stranger)
        error = refused(whole, exit_code=4, code="consent_missing")
        assert "foreign-folder" in error["message"]
        assert error["next"].endswith("--consent foreign-folder")

    def test_a_checkpoint_that_may_only_be_read(self, plain_case: Case) -> None:
        plain_case.checkpoint.chmod(0o555)
        try:
            alone = ("remediate", "PLAYBOOK", "--no-launch", "--json")
            before = {path.name: path.read_bytes() for path in plain_case.checkpoint.iterdir()}
            left = plain_case.deploy(*alone)
            assert left.code == 4, left.out + left.err
            error = the_error(left)
            assert error["code"] == "not_writable"
            assert f"cannot write in {plain_case.checkpoint}" in error["message"]
            assert error["next"].endswith("--model-dir DIR")
            assert {path.name: path.read_bytes() for path in plain_case.checkpoint.iterdir()} == before
            assert json.loads(plain_case.deploy("status", "PLAYBOOK", "--json").out)["patches"] == []
        finally:
            plain_case.checkpoint.chmod(0o755)


ONE_CARD = {"parallel": {"tensor": 1}, "needs": {"gpus": 1}}
"""What spares the launch of eight workers."""
AWKWARD = 'it\'s "a" $(touch {0}) `touch {0}` ;touch {0}& é \\ *'


class TestWords:
    """What a person writes is never read by a shell: a file would be there that proves it."""

    def test_awkward_words_reach_the_engine_as_they_are(
        self, case: Case, repositories: Path, tmp_path: Path
    ) -> None:
        short = Path(
            tempfile.mkdtemp(prefix="c")
        )  # the word stands twice in a file's name of at most 255 bytes
        canary = short / "c"
        word = AWKWARD.format(canary)
        name = word.replace("/", "%")
        case.checkpoint = tmp_path / f"-x {name}"
        engine = stand_in.make(tmp_path / f"-e {name}")
        shutil.copytree(repositories / REPOSITORY, case.checkpoint)
        case.content["checkpoint"] = {"folder": str(case.checkpoint)}
        case.content |= {"engine": {"python": engine.python}, **ONE_CARD}
        case.content["arguments"] = {"chat-template": word, "chat-template-content-format": f"-- {word}"}
        case.content["environment"] = {"AWKWARD": word, "DASHED": f"-n {word}"}
        case.content["smoke"] = {"prompt": f"{word}\n{word}", "max_tokens": 2}
        case.write()
        try:
            left = case.deploy("PLAYBOOK", "--json", "--env", f"GIVEN={word}", "--engine-arg", f"seed={word}")
            assert left.code == 0, left.out + left.err
            status = json.loads(case.deploy("status", "PLAYBOOK", "--json").out)
            commands = {one["pid"]: words_of(one["pid"], "cmdline") for one in status["members"]}
            pid = min(pid for pid, argv in commands.items() if argv[0] == engine.python)
            argv = commands[pid]
            for one in (
                engine.python,
                str(case.checkpoint),
                word,
                f"--chat-template-content-format=-- {word}",
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
        ids=lambda value: (
            value if isinstance(value, str) else value[-1][:16].encode("unicode_escape").decode()
        ),
    )
    def test_words_that_are_refused(
        self, case: Case, tmp_path: Path, words: tuple[str, ...], code: str
    ) -> None:
        canary = tmp_path / "canary"
        refused(case, *(word.replace("CANARY", str(canary)) for word in words), exit_code=2, code=code)
        assert not canary.exists()


NOISE = r"""
import os, sys
out = sys.stdout.buffer
out.write(b"\x1b[31mred\x1b[0m \x1b]0;title\x07\r 10%\r 20%\r\n")
out.write(b"\xff\xfe\x80 no text \x00\n")
out.write(b"x" * 3_000_000 + b"\n")
out.flush()
"""
LOG = "os.readlink('/proc/self/fd/1')"


class TestLog:
    def test_bytes_of_every_kind(self, whole: Case, tmp_path: Path) -> None:
        whole.content |= {"engine": {"python": engine_that_first(tmp_path, NOISE)}, **ONE_CARD}
        whole.write()
        try:
            left = whole.deploy("PLAYBOOK")
            assert left.code == 0, left.out[-2000:] + left.err
            assert "\x1b" not in left.out + left.err and "\x07" not in left.out
            log = (whole.state / "launches" / "1" / "vllm.log").read_bytes()
            assert b"x" * 3_000_000 in log
            shown = whole.deploy("logs", "PLAYBOOK")
            assert shown.code == 0
        finally:
            whole.deploy("stop", "PLAYBOOK")

    @pytest.mark.parametrize("act", ["truncate({}, 0)", "unlink({})"], ids=["truncated", "deleted"])
    def test_a_log_that_goes_away_while_it_is_followed(self, whole: Case, tmp_path: Path, act: str) -> None:
        gone = f"import os, time\nprint('soon gone', flush=True)\ntime.sleep(0.2)\nos.{act.format(LOG)}\n"
        whole.content |= {"engine": {"python": engine_that_first(tmp_path, gone)}, **ONE_CARD}
        whole.write()
        try:
            left = whole.deploy("PLAYBOOK", "--json")
            assert left.code == 0, left.out[-2000:] + left.err
            assert whole.actions().count("launch") == 1
            shown = whole.deploy("logs", "PLAYBOOK")
            assert shown.code == (2 if "unlink" in act else 0), shown.err
            assert "soon gone" not in shown.out
        finally:
            whole.deploy("stop", "PLAYBOOK")


class TestForeignServer:
    """A server that answers as ours would, and is not."""

    def test_it_is_there_before_the_launch(self, whole: Case) -> None:
        with foreign_server(whole.content["port"], "tiny") as asked:
            error = refused(whole, exit_code=4, code="port_taken")
            assert f"pid {os.getpid()}" in error["message"]
            assert f"--set port={int(str(whole.content['port'])) + 1}" in error["next"]
            assert "POST /v1/completions" not in asked  # nothing of ours was sent to it

    def test_it_comes_while_the_launch_is_under_way(self, whole: Case, tmp_path: Path) -> None:
        whole.content["engine"] = {"python": engine_that_first(tmp_path, "import time; time.sleep(60)")}
        whole.write()
        started = threading.Event()
        asked: list[str] = []

        def appear() -> None:
            while not (whole.state / "launches" / "1" / "process.json").exists():
                time.sleep(0.02)
            with foreign_server(whole.content["port"], "tiny") as seen:
                started.wait(20)
                asked.extend(seen)

        other = threading.Thread(target=appear)
        other.start()
        try:
            left = whole.deploy("PLAYBOOK", "--json")
            assert left.code == 6, left.out[-2000:] + left.err
            error = the_error(left)
            assert error["code"] == "foreign_server"
            assert f"pid {os.getpid()}" in error["message"]
            assert error["next"].startswith(f"deploy stop {whole.path}")
        finally:
            started.set()
            other.join()
            assert whole.deploy("stop", "PLAYBOOK").code == 0
        assert "POST /v1/completions" not in asked


def words_of(pid: int, name: str) -> list[str]:
    """The arguments or the environment of a process."""
    return Path(f"/proc/{pid}/{name}").read_bytes().decode().split("\0")


def not_downloaded(case: Case, *, code: str) -> dict[str, Any]:
    """Bring the playbook up, which must end at the download, with nothing fetched and nothing launched."""
    left = case.deploy("PLAYBOOK", "--json")
    assert left.code == 5, left.out + left.err
    error = the_error(left)
    assert error["code"] == code, error
    assert error["next"], error
    assert case.hub.fetched() == []
    assert not (case.state / "launches").exists()
    return error


def spoil(path: Path, kind: str) -> None:
    """Make a config file one of the ways in which it may be broken."""
    if kind in BROKEN:
        path.write_bytes(BROKEN[kind])
    elif kind == "huge":
        os.truncate(path, 100 << 20)
    else:
        path.unlink()
        if kind == "folder":
            path.mkdir()


def reach(case: Case, **options: str) -> None:
    """Have the case's command reach the host by another ssh_config."""
    path = case.home / "ssh_config"
    path.write_text(case.server.host_stanza(**options))
    case.deploy.server = cast(Sshd, SimpleNamespace(alias=case.server.alias, ssh_config=str(path)))


def answer_as_another_protocol(server: socket.socket) -> None:
    """Take connections and answer each as a web server would, until the socket is closed."""
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def engine_that_first(folder: Path, program: str) -> str:
    """A stand-in whose engine runs this program before anything else; gives its interpreter."""
    made = stand_in.make(folder / "engine")
    (entry,) = made.folder.glob("lib/*/site-packages/vllm/entrypoints/openai/api_server.py")
    entry.write_text(f"{program}\n{entry.read_text()}")
    return made.python


@contextmanager
def foreign_server(port: object, model: str) -> Iterator[list[str]]:
    """Somebody else's server with the same model id; gives what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.command} {self.path}")
            body = json.dumps({"object": "list", "data": [{"id": model}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", int(str(port))), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield asked
        finally:
            server.shutdown()
            thread.join()
