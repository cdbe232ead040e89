"""What of a launch does a version of vLLM ignore, or take for some models only?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from packaging.version import Version

from orchestrator.engines.options import Options
from orchestrator.engines.vllm.option_table import releases
from orchestrator.engines.vllm.releases import spoken, table, within


def ignored(options: Options, version: str) -> Iterator[str]:
    """A sentence each; of a version that is newer than all that is known, that nothing is known of it."""
    if not releases().knows(version):
        if releases().beside(version):
            yield f"vLLM {version} is newer than what is known here ({releases().newest}): options and their values are not judged"
        return
    yield from _doubtful(options, version)
    for variable in options.environment:
        if variable.name.startswith("VLLM_"):
            yield from _unread(variable.name, version)


def _doubtful(options: Options, version: str) -> Iterator[str]:
    doubtful: Mapping[str, Mapping[str, Mapping[str, str]]] = table("renames.json")["doubtful"]
    for name, values in doubtful.items():
        text = str(options.value(name))
        known = values.get(text)
        if known and all(within(known["in"], release) for release in releases().beside(version)):
            yield f"--{name} {text}: {known['why']} (vLLM {spoken(known['in'], str(releases().newest))})"


def _unread(name: str, version: str) -> Iterator[str]:
    known = table("variables.json")
    read: Mapping[str, str] = known["variables"]
    ranges = read.get(name)
    beside = releases().beside(version)
    if ranges is not None and _is_read(ranges, beside):
        return
    if ranges:
        instead = known["instead"].get(name)
        more = f"; {instead}" if instead else ""
        yield f"vLLM {version} does not read {name}, only {spoken(ranges, str(releases().newest))} did{more}"
        return
    import difflib  # few plans come here

    near = difflib.get_close_matches(
        name, [other for other in read if _is_read(read[other], beside)], n=2, cutoff=0.8
    )
    if near:
        yield f"vLLM {version} reads no variable {name}; did you mean {' or '.join(near)}?"
        return
    gone = difflib.get_close_matches(name, read, n=1, cutoff=0.8)
    meant = f"; {gone[0]} was one in {spoken(read[gone[0]], str(releases().newest))}" if gone else ""
    yield f"vLLM {version} reads no variable {name}{meant}"


def _is_read(ranges: str, beside: Sequence[Version]) -> bool:
    return not ranges or any(within(ranges, release) for release in beside)
