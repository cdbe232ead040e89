"""Which machine is this, by which addresses is it reached, and in which group was it launched last?"""

from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import socket
import struct
from pathlib import Path
from typing import Any

from orchestrator.on_host.kinds import launches
from orchestrator.on_host.refusal import Refusal
from orchestrator.on_host.state.state import boot_id, known_folder, machine_id, records

_ADDRESS, _NETMASK, _FLAGS = 0x8915, 0x891B, 0x8913  # SIOCGIFADDR, SIOCGIFNETMASK, SIOCGIFFLAGS
_UP, _LOOPBACK = 0x1, 0x8


def main(request: dict[str, Any]) -> dict[str, Any]:
    """request: instance. Answers {hostname, place: [machine, boot, the instance's state folder], addresses: [{interface, address, prefix, mbit}]}: the IPv4 address of every interface that is up and no
    loopback; mbit is null where the kernel tells no speed. Also {group, stopped}: what the record of the last launch says of its group, or
    null, and whether a person has stopped that launch."""
    addresses = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError, ValueError):  # it has no address, or went away
                flags = struct.unpack_from("16xH", _ioctl(asked, _FLAGS, name))[0]
                if flags & _UP and not flags & _LOOPBACK:
                    address, mask = (_ip(_ioctl(asked, what, name)) for what in (_ADDRESS, _NETMASK))
                    prefix = ipaddress.IPv4Network((0, mask)).prefixlen
                    addresses.append(
                        {"interface": name, "address": address, "prefix": prefix, "mbit": _mbit(name)}
                    )
    state = known_folder(request["instance"])
    place = [machine_id(), boot_id(), str(state)]
    whose = {"hostname": socket.gethostname(), "place": place, "addresses": addresses}
    return {**whose, "group": _group(state), "stopped": stopped(state)}


def _group(state: Path) -> Any:
    """Of what cannot be read others say more than this look at a machine."""
    with contextlib.suppress(Refusal):
        for number in reversed(launches.numbers(state)):
            launch = launches.load(state, number)
            if launch is not None:
                note = (launch.command() or {}).get("note")
                return note.get("group") if isinstance(note, dict) else None
    return None


def stopped(state: Path) -> bool:
    """Whether a person has stopped the last launch of the deployment with this state folder, not to start it again at once."""
    with contextlib.suppress(Refusal):
        for record in reversed(records(state)):
            if record.get("action") in ("launch", "stop"):
                return (
                    record["action"] == "stop" and record.get("by_person") is True and not record.get("anew")
                )
    return False


def _ioctl(asked: socket.socket, what: int, interface: str) -> bytes:
    return fcntl.ioctl(asked.fileno(), what, struct.pack("256s", interface.encode()[:15]))


def _ip(answer: bytes) -> str:
    return socket.inet_ntoa(answer[20:24])


def _mbit(interface: str) -> int | None:
    try:
        speed = int(Path(f"/sys/class/net/{interface}/speed").read_text())
    except (OSError, ValueError):
        return None
    return speed if speed > 0 else None
