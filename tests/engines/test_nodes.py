"""What each host of a launch over several starts."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from orchestrator.engines.node import Node
from orchestrator.engines.options import Option, Wanted
from orchestrator.engines.variable import Variable
from orchestrator.engines.vllm.options import VllmOptions

HEAD = Node(0, 2, "10.0.0.1", 29501, "10.0.0.1", "eth0")
WORKER = replace(HEAD, rank=1, address="10.0.0.2", interface="ib0")


def launch(
    node: Node | None, arguments: dict[str, Any] | None = None, *, data: int = 1, **variables: str
) -> VllmOptions:
    def option(value: Any) -> Option[Any]:
        return Option(value, "playbook")

    return VllmOptions.of(
        Wanted(
            python="/p", folder=option("/m"), served_name=option("m"), listen=option("127.0.0.1"), port=option(8000),
            tensor=option(4), pipeline=option(2), data=option(data), context=option(4096),
            arguments={name: option(value) for name, value in (arguments or {}).items()},
            environment=tuple(Variable(name, text, "", "playbook") for name, text in variables.items()),
            node=node,
        )
    )  # fmt: skip


def test_the_head_serves_and_the_others_are_headless() -> None:
    head, worker = launch(HEAD).argv, launch(WORKER).argv
    assert head[:5] == ("/p", "-m", "vllm.entrypoints.openai.api_server", "--model", "/m")
    assert "--headless" not in head
    assert worker[:6] == ("/p", "-m", "vllm.entrypoints.cli.main", "serve", "/m", "--headless")
    assert "--model" not in worker
    for argv, rank in ((head, "0"), (worker, "1")):
        told = dict(pairwise(argv))
        assert (told["--nnodes"], told["--node-rank"]) == ("2", rank)
        assert (told["--master-addr"], told["--master-port"]) == ("10.0.0.1", "29501")
        assert told["--distributed-executor-backend"] == "mp"


COPIES = {
    "--data-parallel-size": "4",
    "--data-parallel-address": "10.0.0.1",
    "--data-parallel-rpc-port": "29501",
}


@pytest.mark.parametrize(
    ("balance", "of_head", "of_worker", "answers"),
    [
        (
            "internal",
            {"--data-parallel-size-local": "2", "--api-server-count": "1"},
            {"--data-parallel-size-local": "2", "--data-parallel-start-rank": "2"},
            [True, False],
        ),
        (
            "hybrid",
            {"--data-parallel-size-local": "2", "--api-server-count": "1"},
            {
                "--data-parallel-size-local": "2",
                "--data-parallel-start-rank": "2",
                "--api-server-count": "1",
            },
            [True, True],
        ),
    ],
)
def test_copies_lie_whole_on_a_host(
    balance: Any, of_head: dict[str, str], of_worker: dict[str, str], answers: list[bool]
) -> None:
    for node, own, serves in zip((HEAD, WORKER), (of_head, of_worker), answers, strict=True):
        options = launch(replace(node, balance=balance), data=4)
        argv = options.argv
        assert argv[1:5] == ("-m", "vllm.entrypoints.cli.main", "serve", "/m")
        assert ("--headless" not in argv) == options.node.serves == serves  # type: ignore[union-attr]
        assert ("--data-parallel-hybrid-lb" in argv) == (balance == "hybrid")
        given = dict(pairwise(argv))
        named = {name: text for name, text in given.items() if name.startswith(("--data", "--api", "--nn"))}
        named.pop("--data-parallel-hybrid-lb", None)
        assert named == {**COPIES, **own}
        assert not options.for_version("0.33.0").objections("0.33.0")
        assert options.gpus == 16


def test_each_copy_may_answer_for_itself() -> None:
    argv = dict(pairwise(launch(replace(WORKER, balance="external"), data=2).argv))
    assert argv["--data-parallel-rank"] == "1"
    assert "--data-parallel-size-local" not in argv


def test_each_names_its_own_address_and_interface() -> None:
    sent = launch(WORKER).sent
    assert sent == {"VLLM_HOST_IP": "10.0.0.2", "GLOO_SOCKET_IFNAME": "ib0", "NCCL_SOCKET_IFNAME": "ib0"}
    assert launch(WORKER, VLLM_HOST_IP="10.0.0.9").sent["VLLM_HOST_IP"] == "10.0.0.9"


def test_cards_are_counted_on_this_host_and_weights_over_all() -> None:
    assert (launch(HEAD).gpus, launch(HEAD).ranks) == (4, 8)
    assert (launch(None).gpus, launch(None).ranks) == (8, 8)


@pytest.mark.parametrize(
    ("version", "given", "set_"),
    [
        ("0.33.0", {}, {"distributed-timeout-seconds": 60, "cpu-distributed-timeout-seconds": 60}),
        ("0.19.0", {}, {"distributed-timeout-seconds": 60}),
        ("0.16.0", {}, {}),
        (
            "0.33.0",
            {"distributed-timeout-seconds": 900},
            {"distributed-timeout-seconds": 900, "cpu-distributed-timeout-seconds": 60},
        ),
    ],
)
def test_ranks_wait_no_longer_than_they_need_to(
    version: str, given: dict[str, Any], set_: dict[str, Any]
) -> None:
    options = launch(HEAD, given).for_version(version)
    assert {name: option.value for name, option in options.given.items() if "timeout" in name} == set_
    assert len(options.additions) == len(set_) - len(given)
    assert options.for_version(version) == options
    assert not options.objections(version)
    alone = launch(None).for_version(version)
    assert not any("timeout" in name for name in alone.given)


def test_a_release_without_several_hosts_is_told() -> None:
    objections = launch(replace(HEAD, through="engine")).for_version("0.10.2").objections("0.10.2")
    assert {"nnodes", "node-rank", "master-addr", "master-port"} <= {each.option for each in objections}


RAY = ("--head", "10.0.0.1:29501", "--own", "10.0.0.{}", "--ports", "29502", "--hosts", "2", "--gpus", "4")


@pytest.mark.parametrize(
    ("through", "given", "version"),
    [
        ("ray", {}, "0.33.0"),
        ("ray", {"master-port": 29501}, "0.33.0"),
        (None, {"distributed-executor-backend": "ray"}, "0.33.0"),
        (None, {}, "0.11.0"),
    ],
)
def test_ray_starts_the_ranks_where_somebody_says_so_or_the_release_has_no_other_way(
    through: Any, given: dict[str, Any], version: str
) -> None:
    head, worker = (
        launch(replace(node, through=through), given).for_version(version) for node in (HEAD, WORKER)
    )
    for own, number in ((head, 1), (worker, 2)):
        assert own.argv[:12] == ("/p", "{launch}/ray_node.py", *(item.format(number) for item in RAY))
        assert "ray_node.py" in own.files
        assert own.consents()["listen-openly"].startswith("Ray")
        assert not own.objections(version)
        assert own.for_version(version) == own
        assert [each.option for each in own.additions if "backend" in each.option] == (
            ["--distributed-executor-backend ray"] if version == "0.11.0" else []
        )
    server = head.argv[head.argv.index("--") + 1 :]
    assert server[:3] == ("/p", "-m", "vllm.entrypoints.openai.api_server")
    assert not {"--nnodes", "--node-rank", "--master-addr", "--master-port"} & {*server}
    assert dict(pairwise(server))["--distributed-executor-backend"] == "ray"
    assert worker.argv[-2] == "--patience"
    assert worker.sent["VLLM_HOST_IP"] == "10.0.0.2"


def test_what_a_release_can_do_by_itself_needs_no_ray() -> None:
    assert not launch(HEAD).for_version("0.11.1").through_ray
    assert not launch(HEAD, data=2).for_version("0.11.0").through_ray
    assert not launch(None, {"distributed-executor-backend": "ray"}).for_version("0.33.0").files


def test_what_the_server_is_told_is_judged_on_every_host() -> None:
    for node in (HEAD, WORKER):
        assert (
            "trust-remote-code"
            in launch(replace(node, through="ray"), {"trust-remote-code": True}).consents()
        )
