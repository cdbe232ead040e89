"""Which driver does the kernel have loaded, and up to which CUDA does it go?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.facts.gpus import NVIDIA_PATH, failure
from orchestrator.facts.source import Command, Fact, Output, Unknown, parsed, plain

# Older ones know no --version, and say the same above what they are asked for.
_SCRIPT = (
    NVIDIA_PATH
    + r"""
cat /proc/driver/nvidia/version 2>/dev/null
command -v nvidia-smi >/dev/null 2>&1 || { echo 'nvidia-smi: command not found'; exit 127; }
nvidia-smi --version 2>/dev/null | grep -q 'CUDA Version' && exec nvidia-smi --version
exec nvidia-smi -q -d COMPUTE
"""
)

COMMAND = Command.sh(_SCRIPT, timeout=30)


@dataclass(frozen=True)
class Behind:
    """A program that was built for a newer CUDA than the driver goes up to."""

    driver: str
    program: str
    certain: bool
    """Whether it cannot start; else only kernels that are compiled on the host fail (minor version compatibility)."""

    @property
    def sentence(self) -> str:
        then = (
            "it does not start, unless a cuda-compat package is in use"
            if self.certain
            else "it starts, kernels that are compiled on the host may fail"
        )
        return f"the driver goes up to CUDA {self.driver}, torch is built for CUDA {self.program}: {then}"


@dataclass(frozen=True)
class Driver:
    """The NVIDIA driver; what it does not tell is None."""

    version: str | None
    """As in "580.159.04"."""
    cuda: str | None
    """The newest CUDA that it runs without a package for compatibility, as in "13.0"."""
    module: str | None
    """The version of the kernel module that is loaded; another one than the libraries' after an upgrade without a reboot."""
    open: bool | None
    """Whether the module is the open one, without which a Blackwell card does not start."""

    def behind(self, built_for: str | None) -> Behind | None:
        """How a program that was built for this CUDA ("12.8") fares where the driver goes less far; None where it is well."""
        if built_for is None or self.cuda is None or not re.fullmatch(r"\d{1,4}\.\d{1,4}", built_for):
            return None
        ours, theirs = (tuple(map(int, text.split("."))) for text in (self.cuda, built_for))
        if ours >= theirs:
            return None
        return Behind(self.cuda, built_for, certain=ours[0] < theirs[0])


def parse(output: Output) -> Driver | Unknown:
    """From /proc/driver/nvidia/version and the head of `nvidia-smi --version` or `-q`."""
    module = re.search(r"^NVRM version: (.*?)\s+(\d[\d.]{0,40})\s", output.out, re.MULTILINE)
    version = re.search(r"^driver version\s*: (\d[\d.]{0,40})\s*$", output.out, re.MULTILINE | re.IGNORECASE)
    cuda = re.search(r"^cuda version\s*: (\d{1,4}\.\d{1,4})\s*$", output.out, re.MULTILINE | re.IGNORECASE)
    if not module and not version:
        return failure(output) or Unknown("driver_unread", "neither the kernel nor nvidia-smi names a driver")
    return Driver(
        version=version[1] if version else None,
        cuda=cuda[1] if cuda else None,
        module=module[2] if module else None,
        open="Open Kernel Module" in module[1] if module else None,
    )


FACT = Fact("driver", plain(COMMAND), parsed(parse), Driver)
