"""Which container runtimes are there, may this user use them, and do they give a container its GPUs?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.facts.source import Command, Fact, Output, Query, Unknown

# A daemon that does not answer must not take the others along. $@ are the engines whose images are named.
_SCRIPT = r"""
echo looked
for name in docker podman nerdctl apptainer enroot; do
  command -v $name >/dev/null || continue
  printf 'runtime %s version=%s ' $name "$(timeout 5 $name --version | grep -o '[0-9][0-9.]*' | head -n 1)"
  case $name in
    docker|podman)
      if info=$(timeout 8 $name info 2>&1); then
        printf 'answers=yes '
        printf '%s' "$info" | grep -qiE 'runtimes:.*nvidia|nvidia.com/gpu' && printf 'gpus=yes '
        echo
        timeout 8 $name images --format '{{.Repository}}:{{.Tag}}' | for_engines | sed "s/^/image $name /"
        continue
      fi
      printf 'refusal=%s ' "$(printf %s "$info" | grep -iE 'error|denied|cannot' | head -n 1 | cut -c 1-160 | tr ' ' '_')" ;;
  esac
  echo
done
command -v nvidia-ctk >/dev/null && echo "toolkit $(timeout 5 nvidia-ctk --version | grep -o '[0-9][0-9.]*' | head -n 1)"
ls /etc/cdi/*nvidia* /var/run/cdi/*nvidia* >/dev/null 2>&1 && echo cdi
true
"""


@dataclass(frozen=True)
class Runtime:
    """One runtime on the PATH."""

    name: str
    version: str | None
    answers: bool | None
    """Whether this user may use it; None for one without a daemon to ask."""
    gpus: bool
    """Whether it says that it gives a container GPUs."""
    refusal: str | None
    images: tuple[str, ...]
    """Images that have the engine's name in theirs."""


@dataclass(frozen=True)
class Runtimes:
    """The runtimes, and what NVIDIA has put beside them."""

    runtimes: tuple[Runtime, ...]
    toolkit: str | None
    """The version of nvidia-ctk."""
    cdi: bool
    """Whether there is a device specification for GPUs, by which podman and newer Docker give them."""


def _command(query: Query) -> Command:
    names = "|".join(re.escape(name) for name in query.package.distributions) or "$^"
    wanted = f"for_engines() {{ grep -iE '{names}' | head -n 20; }}\n"
    return Command.sh(f"exec 2>/dev/null\n{wanted}{_SCRIPT}", timeout=25)


def parse(output: Output) -> Runtimes | Unknown:
    """From what each says of itself."""
    lines = output.out.splitlines()
    if "looked" not in lines:
        return Unknown("runtimes_unread", "the host's shell answers nothing")
    runtimes = []
    for line in lines:
        kind, *words = line.split() or [""]
        if kind != "runtime" or not words:
            continue
        name, values = words[0], dict(word.split("=", 1) for word in words if "=" in word)
        answers = "answers" in values if name in ("docker", "podman") else None
        refusal = values.get("refusal", "").replace("_", " ").strip() or None
        images = tuple(item.split(" ", 2)[2] for item in lines if item.startswith(f"image {name} "))
        runtimes.append(
            Runtime(name, values.get("version") or None, answers, "gpus" in values, refusal, images)
        )
    toolkit = next((line.partition(" ")[2] for line in lines if line.startswith("toolkit")), None)
    return Runtimes(tuple(runtimes), toolkit or None, "cdi" in lines)


FACT = Fact(
    "runtimes",
    _command,
    lambda output, _: output if isinstance(output, Unknown) else parse(output),
    Runtimes,
    by_line=True,
)
