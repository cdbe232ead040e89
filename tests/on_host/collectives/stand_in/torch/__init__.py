"""A torch with as many cards as CUDA_VISIBLE_DEVICES names, whose sums cost what STAND_IN_* say.

STAND_IN_DEAF and STAND_IN_WRONG name two cards ("GPU-2,GPU-5") that stand still, or add up wrongly, where both take part and
peer to peer is on; STAND_IN_SECONDS is what a sum takes, STAND_IN_NO_CUDA hides the cards, STAND_IN_EXIT ends rank 0 at its
first sum.
"""

from __future__ import annotations

import os

__version__ = "2.11.0+standin"
float32 = "float32"


def cards() -> list[str]:
    return [name for name in os.environ["CUDA_VISIBLE_DEVICES"].split(",") if name]


class _Nccl:
    @staticmethod
    def version() -> tuple[int, int, int]:
        return (2, 27, 5)


class cuda:
    nccl = _Nccl

    @staticmethod
    def is_available() -> bool:
        return "STAND_IN_NO_CUDA" not in os.environ

    @staticmethod
    def device_count() -> int:
        return len(cards())

    @staticmethod
    def set_device(device: str) -> None:
        print("a line of a library that says things", flush=True)

    @staticmethod
    def synchronize() -> None:
        pass


class Tensor:
    """One number stands for all; what a comparison finds wrong is counted."""

    is_cuda = True

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def item(self) -> float:
        return self.value

    def sum(self) -> Tensor:
        return self

    def __mod__(self, other: object) -> Tensor:
        return Tensor(self.value)

    __add__ = __mul__ = __mod__

    def __getitem__(self, part: object) -> Tensor:
        return self

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        return Tensor(self.value)


def zeros(count: int, **more: object) -> Tensor:
    return Tensor()


def arange(count: int, **more: object) -> Tensor:
    return Tensor()


def tensor(values: list[float], **more: object) -> Tensor:
    return Tensor(values[0])
