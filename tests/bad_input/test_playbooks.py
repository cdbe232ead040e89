"""A wrong command line or playbook: what is wrong, where, and what is near to it."""

from __future__ import annotations

from tests.bad_input.refused import refused
from tests.deployments import Case


def test_an_unknown_playbook_has_near_names(case: Case) -> None:
    error = refused(case, "kimi-k25", exit_code=2, code="unknown_playbook")
    assert "did you mean kimi-k2.5" in error["message"]


def test_an_invalid_playbook_is_told_by_file_line_and_key(case: Case) -> None:
    case.path.write_text("model:\n  served_name: x\ncontext: many\nprot: 2\n")
    error = refused(case, exit_code=2, code="invalid_playbook")
    told = [line.removeprefix(f"{case.path}:") for line in error["message"].splitlines()]
    assert told[0].startswith("1: model.repository: is missing")
    assert told[1].startswith("3: context: 'many' is wrong; allowed: a number of tokens from 1, or auto")
    assert told[2].startswith("4: prot: is not a known key, did you mean port?")
    assert error["next"].endswith(f"+1 {case.path}")


def test_a_file_name_that_is_no_playbook_name(case: Case) -> None:
    case.path = case.path.rename(case.path.with_name("My Model.yaml"))
    case.deploy.playbook = case.path
    error = refused(case, exit_code=2, code="invalid_playbook")
    assert error["next"].endswith("/my-model.yaml")


def test_a_wrong_option(case: Case) -> None:
    error = refused(case, "PLAYBOOK", "--set", "prot=1", exit_code=2, code="invalid_option")
    assert "did you mean port?" in error["message"]
    assert error["next"] == f"deploy show {case.path}"
