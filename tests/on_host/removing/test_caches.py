"""Where an engine keeps what it compiled, told from its environment alone."""

from __future__ import annotations

import os
import pwd
import re
from pathlib import Path

import pytest

from orchestrator.engines.vllm.footprint import FOOTPRINT
from orchestrator.on_host.removing import caches

HOME = {"HOME": "/home/me", "LOGNAME": "me"}


def places(environment: dict[str, str]) -> list[str]:
    return [os.path.join(cache.base, cache.below) for cache in caches.compiled(environment, FOOTPRINT)]


def test_where_nothing_is_set() -> None:
    assert places(HOME) == [
        "/home/me/.cache/vllm/torch_compile_cache",
        "/home/me/.cache/vllm/torch_aot_compile",
        "/home/me/.cache/flashinfer",
        "/home/me/.triton/cache",
        "/tmp/torchinductor_me",
    ]


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({"XDG_CACHE_HOME": "/fast"}, "/fast/vllm/torch_compile_cache"),
        ({"VLLM_CACHE_ROOT": "/fast"}, "/fast/torch_compile_cache"),
        ({"VLLM_CACHE_ROOT": "~/v", "XDG_CACHE_HOME": "/fast"}, "/home/me/v/torch_aot_compile"),
        ({"HOME": "/home/box"}, "/home/box/.triton/cache"),
        ({"TRITON_HOME": "/fast"}, "/fast/.triton/cache"),
        ({"TRITON_HOME": "/fast", "TRITON_CACHE_DIR": "/t/x/"}, "/t/x"),
        ({"FLASHINFER_WORKSPACE_BASE": "/fast"}, "/fast/.cache/flashinfer"),
        ({"TORCHINDUCTOR_CACHE_DIR": "/fast/i"}, "/fast/i"),
        ({"LOGNAME": "you"}, "/tmp/torchinductor_you"),
        ({"LOGNAME": "", "USER": "a:b\\c"}, "/tmp/torchinductor_a_b_c"),
        ({"TMPDIR": "/var/tmp"}, "/var/tmp/torchinductor_me"),
        ({"TMPDIR": "/no/such/folder", "TEMP": "/var/tmp"}, "/var/tmp/torchinductor_me"),
        ({"TMPDIR": "/no/such/folder"}, "/tmp/torchinductor_me"),
    ],
)
def test_what_a_variable_says(environment: dict[str, str], place: str) -> None:
    """And nothing that another variable, or none, would have said."""
    told = places({**HOME, **environment})
    assert place in told
    assert len(told) == 5


def test_without_a_name_the_account_tells() -> None:
    user = pwd.getpwuid(os.getuid())
    assert places({})[-1] == f"/tmp/torchinductor_{user.pw_name}"
    assert places({})[-2] == f"{user.pw_dir}/.triton/cache"


def test_a_relative_place_is_nobodys() -> None:
    assert len(places({**HOME, "TRITON_CACHE_DIR": "cache", "VLLM_CACHE_ROOT": "v"})) == 2


@pytest.mark.parametrize(
    ("variable", "cached", "foreign"),
    [
        (
            "TRITON_CACHE_DIR",
            ["A" * 40 + "BCDEFGHIJ234", "0f" * 32],
            ["thesis", ".ssh", "cache", "model.safetensors"],
        ),
        (
            "TORCHINDUCTOR_CACHE_DIR",
            ["c2", "fxgraph", "aotautograd", "triton", "locks"],
            ["src", "thesis", "C2", ".x"],
        ),
    ],
)
def test_a_folder_that_a_variable_names_may_hold_anything_else(
    variable: str, cached: list[str], foreign: list[str]
) -> None:
    (cache,) = [
        one for one in caches.compiled({**HOME, variable: "/home/me"}, FOOTPRINT) if one.base == "/home"
    ]
    assert cache.entries is not None
    matching = [name for name in (*cached, *foreign) if re.fullmatch(cache.entries, name)]
    assert matching == cached


HASH = "abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopq"


@pytest.mark.parametrize(
    ("path", "cached"),
    [
        (f"54/c54{HASH}.main.cpp", True),
        (f"54/c54{HASH}.py 54/.123.4567.tmp", True),
        (f"fxgraph/d2/fd2{HASH}/x aotautograd/a{HASH}ab locks/c54{HASH}.lock triton/0/x", True),
        (f"triton/{'A' * 52}/kernel.so", True),
        ("go/bin/gopls", False),
        (f"go/src/x go/cgo{HASH}.py", False),
        (f"54/c55{HASH}.py", False),
        ("triton/setup.py triton/0/x", False),
        ("triton/.git/HEAD", False),
        ("locks/canal.png", False),
        ("ml/", False),
    ],
)
def test_a_name_that_anything_may_bear_is_the_caches_by_what_lies_in_it(
    path: str, cached: bool, tmp_path: Path
) -> None:
    """TORCHINDUCTOR_CACHE_DIR=/workspace, where there is a folder `go`, or a clone of Triton."""
    names = set()
    for one in path.split(" "):
        names.add(one.split("/")[0])
        (tmp_path / one).parent.mkdir(parents=True, exist_ok=True)
        if not one.endswith("/"):
            (tmp_path / one).touch()
        else:
            (tmp_path / one).mkdir()
    environment = {**HOME, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    (cache,) = [one for one in caches.compiled(environment, FOOTPRINT) if one.base == str(tmp_path.parent)]
    assert cache.parts() == ([f"{tmp_path.name}/{name}" for name in sorted(names)] if cached else [])


def test_cubins_are_fetched_not_compiled() -> None:
    (cache,) = [one for one in caches.compiled(HOME, FOOTPRINT) if "flashinfer" in one.below]
    assert cache.entries is not None
    names = ["0.2.5", "0.6.1.post1", "86_90a", "120f", "generated", "cubins", "flashinfer_jit.log"]
    assert [name for name in names if re.fullmatch(cache.entries, name)] == names[:5]


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({}, "/home/me/.cache/huggingface/hub"),
        ({"XDG_CACHE_HOME": "/fast"}, "/fast/huggingface/hub"),
        ({"HF_HOME": "~/hf", "XDG_CACHE_HOME": "/fast"}, "/home/me/hf/hub"),
        ({"HF_HOME": "/hf", "HF_HUB_CACHE": "/hub"}, "/hub"),
        ({"HF_HOME": "/hf", "HUGGINGFACE_HUB_CACHE": "/old"}, "/old"),
    ],
)
def test_the_hubs_cache(environment: dict[str, str], place: str) -> None:
    assert caches.hub({**HOME, **environment}) == place


def test_no_variable_on_record_is_a_secret() -> None:
    variables = (*caches.VARIABLES, *FOOTPRINT.variables)
    assert not [name for name in variables if re.search("TOKEN|KEY|PASS|SECRET", name)]
