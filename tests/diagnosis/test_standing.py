"""What a launch that stands still waits for, by the stacks of its processes."""

from __future__ import annotations

import pytest

from orchestrator.diagnosis.incident import Frame
from orchestrator.diagnosis.stacks import Stack
from orchestrator.diagnosis.standing import kept_by, of
from orchestrator.engines.vllm.log.dumps import DUMPS
from orchestrator.engines.waits import Wait

P = "/opt/lib/python3.12/site-packages/"


def stack(*places: str, process: str = "worker_0") -> Stack:
    """Of places "FILE FUNCTION", innermost first."""
    frames = tuple(Frame(place.split()[0], 7, place.split()[1]) for place in places)
    return Stack(process, 300, frames, 11, 20)


COLLECTIVE = (
    f"{P}torch/distributed/c10d_logger.py wrapper",
    f"{P}torch/distributed/distributed_c10d.py all_gather",
)
COMPILES = ("/usr/lib/python3.12/subprocess.py wait", f"{P}triton/compiler/compiler.py compile")
IDLE = (f"{P}vllm/distributed/device_communicators/shm_broadcast.py acquire_read",)


@pytest.mark.parametrize(
    ("places", "wait"),
    [
        (COLLECTIVE, "collective"),
        ((f"{P}torch/distributed/distributed_c10d.py barrier",), "collective"),
        (("libnccl.so.2 ncclGroupEnd",), "collective"),
        ((f"{P}vllm/distributed/device_communicators/pynccl.py all_reduce",), "collective"),
        ((f"{P}torch/distributed/rendezvous.py _create_c10d_store", f"{P}torch/distributed/distributed_c10d.py init_process_group"), "rendezvous"),
        ((f"{P}torch/distributed/c10d_logger.py wrapper", f"{P}torch/distributed/distributed_c10d.py init_process_group"), "rendezvous"),
        ((f"{P}torch/cuda/streams.py synchronize",), "kernel"),
        (IDLE, "message"),
        (COMPILES, "compile"),
        ((f"{P}filelock/_unix.py _acquire", f"{P}torch/_inductor/codecache.py load"), "lock"),
        ((f"{P}torch/utils/file_baton.py wait", f"{P}torch/utils/cpp_extension.py _jit_compile"), "lock"),
        ((f"{P}filelock/_api.py acquire", f"{P}huggingface_hub/utils/_fixes.py WeakFileLock"), "hub"),
        ((f"{P}filelock/_api.py acquire", f"{P}mine.py f"), "lock"),
        (("/usr/lib/python3.12/ssl.py read", f"{P}huggingface_hub/file_download.py http_get"), "hub"),
        ((f"{P}safetensors/torch.py load_file",), "file"),
        ((f"{P}vllm/model_executor/model_loader/weight_utils.py safetensors_weights_iterator",), "file"),
        (("<frozen importlib._bootstrap_external> get_data",), "import"),
        ((f"{P}flashinfer/jit/core.py build_and_load",), "compile"),
        (("/srv/mine.py f", "/srv/mine.py g"), "other"),
    ],
)  # fmt: skip
def test_what_the_innermost_frame_shows_that_shows_anything(places: tuple[str, ...], wait: Wait) -> None:
    assert of(stack(*places), DUMPS).wait == wait


def test_it_is_told_by_whom_where_and_in_which_line() -> None:
    sentence = of(stack(*COLLECTIVE), DUMPS).sentence
    assert (
        sentence
        == "worker_0 (pid 300) waits in a collective of the ranks: all_gather in distributed/distributed_c10d.py:7"
    )


def test_the_others_wait_for_the_one_that_is_in_no_collective() -> None:
    stacks = [stack(*COLLECTIVE, process=f"worker_{rank}") for rank in range(3)]
    kept = kept_by([stack(*IDLE, process="engine_0"), *stacks, stack(*COMPILES, process="worker_3")], DUMPS)
    assert kept is not None
    assert (kept.wait, kept.by.stack.process) == ("compile", "worker_3")
    told = [text for _, text in kept.others]
    assert len(told) == 2
    assert told[1].endswith("; so do worker_1, worker_2")


def test_where_all_are_in_one_the_first_is_told() -> None:
    kept = kept_by([stack(*COLLECTIVE, process=f"worker_{rank}") for rank in range(2)], DUMPS)
    assert kept is not None
    assert (kept.wait, kept.by.stack.process) == ("collective", "worker_0")


def test_who_waits_for_a_message_keeps_nobody_unless_all_do() -> None:
    kept = kept_by([stack(*IDLE, process="worker_0")], DUMPS)
    assert kept is not None
    assert kept.wait == "message"
    assert kept_by([], DUMPS) is None
