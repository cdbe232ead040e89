"""By which addresses a machine is reached, against what the kernel says elsewhere."""

from __future__ import annotations

import ipaddress
import socket

from orchestrator.on_host.programs import addresses
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
