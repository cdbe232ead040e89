"""Where a deployment is asked, and with which key."""

from __future__ import annotations

from typing import Any

from orchestrator.playbook.endpoint import api_key, place_of
from orchestrator.playbook.playbook import Playbook
from orchestrator.programs.place import Endpoint


def small(**keys: Any) -> Playbook:
    return Playbook.model_validate(
        {"name": "small", "model": {"repository": "org/name"}, "context": 8, **keys}
    )


def test_it_answers_where_it_listens_by_the_name_that_clients_ask_for() -> None:
    assert place_of(small()) == Endpoint(host="127.0.0.1", port=8000, model="small")
    named = small(listen="::1", port=9, model={"repository": "org/name", "served_name": "other"})
    assert place_of(named) == Endpoint(host="::1", port=9, model="other")


def test_the_key_is_the_one_that_the_server_will_ask_for() -> None:
    assert api_key(small()) is None
    assert api_key(small(environment={"VLLM_API_KEY": "hushed", "HF_TOKEN": "other"})) == "hushed"
