"""What an HAProxy 2.6 says of replicas."""

from __future__ import annotations

from orchestrator.fleet import haproxy
from orchestrator.fleet.replica import Replica

SAID = """\
# pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,bout,dreq,dresp,ereq,econ,eresp,wretr,wredis,status,weight,act,bck,
kimi,FRONTEND,,,0,0,9985,0,0,0,0,0,0,,,,,OPEN,,,,
kimi,kimi-1,0,0,0,0,,0,0,0,,0,,0,0,0,0,UP,1,1,0,
kimi,kimi-2,0,0,0,0,,0,0,0,,0,,0,0,0,0,DRAIN,1,1,0,
kimi,kimi-3,0,0,0,0,,0,0,0,,0,,0,0,0,0,DOWN 1/2,1,1,0,
kimi,kimi-4,0,0,0,0,,0,0,0,,0,,0,0,0,0,no check,1,1,0,
kimi,BACKEND,0,0,0,0,999,0,0,0,0,0,,0,0,0,0,UP,1,1,0,
other,other-1,0,0,0,0,,0,0,0,,0,,0,0,0,0,UP,1,1,0,

"""


def test_who_is_sent_requests_is_read_by_name() -> None:
    expected = {"kimi-1": True, "kimi-2": False, "kimi-3": False, "kimi-4": True}
    assert haproxy.servers("kimi", SAID) == expected
    assert haproxy.servers("absent", SAID) == {}


def test_another_answer_is_no_list() -> None:
    for text in ("", "Permission denied\n", "Unknown command.", "pxname,svname"):
        assert haproxy.servers("kimi", text) is None


def test_a_replica_is_named_in_its_backend() -> None:
    replica = Replica("kimi", 2, "a", "127.0.0.1", 8002)
    assert haproxy.drain(replica) == "set server kimi/kimi-2 state drain"
    assert haproxy.ready(replica) == "set server kimi/kimi-2 state ready"
