"""By which addresses a machine is reached, against what the kernel says elsewhere."""

from __future__ import annotations

import ipaddress
import json
import socket
from pathlib import Path
from typing import Any

from orchestrator.on_host.programs import addresses
from orchestrator.on_host.state.state import append
from tests.on_host.programs.engine_rooms import launch
from tests.programs.requests import read_too


def test_every_address_is_one_that_can_be_listened_on() -> None:
    listed = read_too("addresses", addresses.main)({"instance": "x"})
    assert listed["hostname"] == socket.gethostname()
    names = {name for _, name in socket.if_nameindex()} - {"lo"}
    for each in listed["addresses"]:
        assert each["interface"] in names
        assert 0 < each["prefix"] <= 32
        assert not ipaddress.ip_address(each["address"]).is_loopback
        with socket.socket() as own:
            own.bind((each["address"], 0))


def test_the_last_launch_says_with_whom_it_was_until_somebody_stops_it(home: Path) -> None:
    def told() -> tuple[Any, bool]:
        answer = read_too("addresses", addresses.main)({"instance": "x"})
        return answer["group"], answer["stopped"]

    assert told() == (None, False)
    state, group = home / ".local/state/deploy/x", {"hosts": ["a", "b"], "rank": 1, "serves": False}
    for number in (1, 2):
        launch(home, "x", number, home / "python3")
    command = state / "launches/2/command.json"
    record = {**json.loads(command.read_text()), "note": {"group": group}}
    command.write_text(json.dumps(record))
    append(state, {"action": "launch", "launch": 2})
    append(state, {"action": "stop", "by_person": False})  # before another attempt
    assert told() == (group, False)
    append(state, {"action": "stop", "by_person": True, "anew": True})  # a restart that was interrupted
    assert told() == (group, False)
    append(state, {"action": "stop", "by_person": True})
    assert told() == (group, True)
    command.write_text(json.dumps({**record, "note": 7}))
    assert told() == (None, True)
