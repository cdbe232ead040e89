"""Reading back what was done: history, status and logs, into a pipe and on a terminal."""

from __future__ import annotations

import json

from tests.deployments import Case
from tests.pseudo_terminal import OnTerminal


def on_terminal(case: Case, *words: str, term: str = "xterm-256color") -> OnTerminal:
    with OnTerminal(case.deploy.argv(*words), case.deploy.whole_environment, term=term) as command:
        assert command.end() == 0
    return command


def test_what_a_repaired_launch_leaves_to_read(case: Case) -> None:
    empty = case.deploy("history", "PLAYBOOK")
    assert (empty.code, empty.out.split(": ")[1]) == (0, "nothing was done yet\n")
    left = case.deploy("PLAYBOOK", "--no-predict")
    assert left.code == 0, left.out + left.err
    assert "\x1b" not in left.out

    records = [json.loads(line) for line in case.deploy("history", "PLAYBOOK", "--json").out.splitlines()]
    assert [one["action"] for one in records] == case.actions()
    shown = case.deploy("history", "PLAYBOOK")
    assert max(len(line) for line in shown.out.splitlines()[1:]) <= 80
    for words in (
        "failed (fp8-kv-mla): ValueError",
        "TRITON_MLA",
        "edited hf_quant_config.json, config.json",
        "healthy",
    ):
        assert words in " ".join(shown.out.split())

    state = case.deploy("status", "PLAYBOOK")
    assert state.out.splitlines()[0].endswith(": healthy")
    assert "fp8-kv-mla" in state.out

    raw = (case.state / "launches/1/vllm.log").read_bytes()
    assert case.deploy("logs", "PLAYBOOK", "--launch", "1").out.encode() == raw
    objects = case.deploy("logs", "PLAYBOOK", "--launch", "1", "--json").of("log")
    assert "\n".join(one["line"] for one in objects) == raw.decode().rstrip("\n").replace("\r", "")
    assert {one["process"] for one in objects} >= {"Worker_TP4", "APIServer"}
    folded = on_terminal(case, "logs", "PLAYBOOK", "--launch", "1")
    assert "same in 8" in folded.text
    assert "\x1b[31m" in folded.raw
    assert folded.text.count("TRITON_MLA") < raw.count(b"TRITON_MLA") == 8
    plain = on_terminal(case, "logs", "PLAYBOOK", "--launch", "1", "--raw", term="dumb")
    assert plain.raw.replace("\r\n", "\n").encode().endswith(raw[-2000:])
    assert "\x1b" not in on_terminal(case, "status", "PLAYBOOK", term="dumb").raw

    explained = case.deploy("logs", "PLAYBOOK", "--launch", "1", "--explain")
    assert explained.code == 6
    for words in ("root cause", "TRITON_MLA", "fp8-kv-mla", "vllm.log:"):
        assert words in " ".join(explained.out.split())
    (found,) = [
        json.loads(line)
        for line in case.deploy("logs", "PLAYBOOK", "--launch", "1", "--explain", "--json").out.splitlines()
    ]
    assert found["finding"]["patch"] == "fp8-kv-mla"
    assert case.deploy("logs", "PLAYBOOK", "--explain").code == 0
    assert case.deploy("logs", "PLAYBOOK", "--explain", "-f").code == 2
