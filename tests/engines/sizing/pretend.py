"""How does a vLLM without a GPU come to believe that it runs on a card, as the first rank of several?

The platform, compiled kernels, libraries of the GPU build and process groups are stand-ins that are named, asked whether
they are there, and never called. Models are built on the meta device: no tensor holds anything.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import os
import sys
import tempfile
import types
from pathlib import Path

LIBRARIES = {
    "cuda", "cutlass", "deep_gemm", "fast_hadamard_transform", "flash_mla", "flashinfer", "quack", "tilelang", "torchvision",
}  # fmt: skip
EXTENSIONS = ("_C", "_moe_C", "_C_stable_libtorch", "_moe_C_stable_libtorch")


class Anything(type):
    """A class of which every attribute is such a class."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name, (), {"__init__": lambda *_, **__: None, "__call__": lambda *_, **__: None})


class Library(types.ModuleType):
    __path__ = ()
    __file__ = "/nowhere/__init__.py"
    __version__ = "99.0"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(
            self,
            name,
            Anything(name, (), {"__init__": lambda *_, **__: None, "__call__": lambda *_, **__: None}),
        )
        return self.__dict__[name]


class Libraries(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands last: what is installed is found before it."""

    def find_spec(self, name, path=None, target=None):
        extension = (
            name.startswith("vllm.") and name.rpartition(".")[2].startswith("_") and name.endswith("_C")
        )
        if name.partition(".")[0] in LIBRARIES or extension or name.startswith("vllm.third_party."):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Library(spec.name)

    def exec_module(self, module):
        pass


class Kernel:
    """An operation of the GPU build: importing code may name it or ask whether it is supported."""

    def __call__(self, *_, **__):
        return True

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Kernel()


class Silent:
    """A stream or an event."""

    def __init__(self, *_, **__):
        pass

    def __getattr__(self, _):
        return lambda *_, **__: 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


class Ranks:
    """A group of `size` processes of which this is the first."""

    def __init__(self, size):
        self.world_size, self.ranks = size, list(range(size))
        self.rank = self.local_rank = self.rank_in_group = self.first_rank = 0
        self.next_rank = self.prev_rank = 0
        self.last_rank, self.is_first_rank, self.is_last_rank = size - 1, True, True
        self.device_group = self.cpu_group = types.SimpleNamespace(
            size=lambda: size, rank=lambda: 0, name=lambda: "ranks", group_name="ranks"
        )
        self.device_communicator = self.mq_broadcaster = self.tcp_store_group = None
        self.use_device_communicator = self.use_custom_op_call = False
        self.unique_name = "ranks"

    def barrier(self):
        pass

    def destroy(self):
        pass


def a_card(capability):
    """Make this process believe that it has a card of that compute capability; before vllm is imported."""
    scratch = tempfile.mkdtemp(prefix="oracle-")
    os.environ |= {
        "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "VLLM_NO_USAGE_STATS": "1", "VLLM_CACHE_ROOT": scratch,
        "VLLM_USE_FLASHINFER_SAMPLER": "0", "VLLM_LOGGING_LEVEL": os.environ.get("VLLM_LOGGING_LEVEL", "CRITICAL"),
    }  # fmt: skip
    import torch

    for name in EXTENSIONS:
        sys.modules[f"vllm.{name}"] = Library(f"vllm.{name}")
    sys.meta_path.append(Libraries())
    import vllm

    if not Path(vllm.__file__).with_name("vllm_flash_attn").joinpath("__init__.py").exists():  # before 0.19
        sys.modules["vllm.vllm_flash_attn"] = Library("vllm.vllm_flash_attn")
    _pretend_torch(torch, capability)
    import vllm.platforms
    from vllm.platforms.cuda import CudaPlatformBase
    from vllm.platforms.interface import DeviceCapability

    class Card(CudaPlatformBase):
        get_device_capability = classmethod(lambda cls, device_id=0: DeviceCapability(*capability))
        get_device_name = classmethod(lambda cls, device_id=0: "NVIDIA H200")
        get_device_uuid = classmethod(lambda cls, device_id=0: "GPU-0")
        get_device_total_memory = classmethod(lambda cls, device_id=0: 140 << 30)
        is_fully_connected = classmethod(lambda cls, device_ids: True)
        num_compute_units = classmethod(lambda cls, device_id=0: 132)
        device_count = classmethod(lambda cls: 8)

    vllm.platforms._current_platform = Card()
    # The build is "+cpu": its Triton would be told apart by that and switched off.
    vllm.platforms.vllm_version_matches_substr = lambda _: False
    from vllm.model_executor.models import registry

    # A subprocess would not know of the card.
    registry._LazyRegisteredModel.inspect_model_cls = lambda self: registry._ModelInfo.from_model_cls(
        self.load_model_cls()
    )


def _pretend_torch(torch, capability):
    major, minor = capability
    cuda = torch.cuda
    cuda.Stream = cuda.Event = Silent
    cuda.current_stream = lambda *_, **__: Silent()
    cuda.current_device, cuda.device_count, cuda._lazy_init = (lambda: 0), (lambda: 8), (lambda: None)
    cuda.get_device_capability, cuda.get_device_name = (lambda *_: capability), (lambda *_: "NVIDIA H200")
    cuda.get_device_properties = lambda *_: types.SimpleNamespace(
        multi_processor_count=132, total_memory=140 << 30, major=major, minor=minor, name="NVIDIA H200",
        shared_memory_per_block_optin=232448,
    )  # fmt: skip
    for name in torch.accelerator.__all__:
        setattr(torch.accelerator, name, Silent)
    torch.accelerator.current_device_index, torch.accelerator.device_count = (lambda: 0), (lambda: 8)
    torch.accelerator.is_available = lambda *_: True
    torch.accelerator.get_memory_info = lambda *_: (140 << 30, 140 << 30)
    torch.nn.Module.to = torch.nn.Module.cuda = lambda self, *_, **__: self
    namespace = torch._ops._OpNamespace
    real = namespace.__getattr__

    def operation(self, name):
        try:
            return real(self, name)
        except AttributeError:
            if name.startswith("__") or not (self.name.startswith("_") and "_C" in self.name):
                raise
            return Kernel()

    namespace.__getattr__ = operation
    register = torch.library.register_fake

    def register_if_there(op, func=None, *args, **kwargs):
        if func is None:
            return lambda later: register_if_there(op, later, *args, **kwargs)
        with contextlib.suppress(Exception):
            register(op, func, *args, **kwargs)
        return func

    torch.library.register_fake = register_if_there


def on_meta(torch):
    """A mode in which no tensor is allocated, whatever device is named."""
    from torch.overrides import TorchFunctionMode

    class Meta(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            device = kwargs.get("device")
            if isinstance(device, int) or (device is not None and "cuda" in str(device)):
                kwargs["device"] = "meta"
            if func in (torch.Tensor.to, torch.Tensor.cuda):
                return args[0]
            return func(*args, **kwargs)

    return Meta()


def be_rank_0_of(size, context=1):
    import vllm.distributed.parallel_state as state

    state.in_the_same_node_as = lambda *_, **__: [True] * size
    for name in ("_TP", "_EP", "_ETP", "_WORLD"):
        if hasattr(state, name):
            setattr(state, name, Ranks(size))
    for name in ("_PP", "_DP", "_PCP", "_EPLB"):
        if hasattr(state, name):
            setattr(state, name, Ranks(1))
    if hasattr(state, "_DCP"):
        state._DCP = Ranks(context)
