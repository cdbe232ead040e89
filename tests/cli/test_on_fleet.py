"""What a command for a fleet knows of those that are there."""

from __future__ import annotations

import pytest

from orchestrator.cli.given import Sought
from orchestrator.cli.on_fleet import _as_there, _where_asked
from orchestrator.cli.options import SharedOptions
from orchestrator.playbook.playbook import Playbook

PLAYBOOK = Playbook.model_validate(
    {
        "name": "m",
        "model": {"repository": "org/m", "served_name": "m"},
        "checkpoint": {"folder": "~/m"},
        "context": 4096,
        "parallel": {"tensor": 8},
        "needs": {"gpus": 8},
    }
)


def given(*settings: str) -> SharedOptions:
    """What a verb was given that has nothing but these settings."""
    return SharedOptions(
        "m", ("a",), False, (), (), None, (), settings, (), (), None, None, None, json=False, verbose=False
    )


@pytest.mark.parametrize(
    ("settings", "there", "spread"),
    [
        ((), 2, ("parallel.tensor=2",)),
        ((), 8, ()),  # as the playbook has it
        ((), None, ()),
        ((), 0, ()),
        (("parallel.tensor=4",), 2, ("parallel.tensor=4",)),  # asked for: what keeps it from that is told
    ],
)
def test_replicas_keep_as_many_cards_as_they_have(
    settings: tuple[str, ...], there: int | None, spread: tuple[str, ...]
) -> None:
    options, sought = _as_there(given(*settings), Sought(PLAYBOOK.with_overrides(settings)), there)
    assert options.settings == spread
    assert sought.playbook.parallel.tensor == int(spread[0].partition("=")[2] if spread else 8)


@pytest.mark.parametrize("settings", [(), ("port=9000",)])
def test_a_router_that_lives_is_asked_where_it_is(settings: tuple[str, ...]) -> None:
    """A fleet that was made with --set port=8100 was called down without it: the router was asked where it is not."""
    sought = Sought(PLAYBOOK.with_overrides(settings))
    asked = _where_asked(sought, ("10.0.0.5", 8100)).playbook
    assert (asked.listen, asked.port) == ("10.0.0.5", 8100)
    assert _where_asked(sought, None) == sought
