"""What is an engine's stands in its folder: nothing else knows its name, options, variables, files or sentences.

Comments and docstrings may name it, for evidence; the rehearsal acts it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import orchestrator
from orchestrator.engines import registry

PACKAGE = Path(orchestrator.__file__).parent
ROOMS = ("engines/vllm/", "engines/sglang/", "rehearsal/")
WORDS = re.compile(
    r"""vllm|sglang|flash_?infer                                                # packages, variables, caches
    |engine_?core|worker_?(?:proc|tp|dp|wrapper)|api_?server|async_?llm|mqengine|raylet|rayworker   # processes and classes
    |\b(?:core|utils|multiproc\w*|launcher)\.py\b|torch_(?:compile|aot)\w*|\bpsm_|\bsem\.(?:mp|loky)|\bnccl-|\btorch_$   # files
    |max[-_]model[-_]len|gpu[-_]memory[-_]util|(?:tensor|pipeline|data|context)[-_]parallel[-_]size|kv[-_]cache[-_](?:dtype|scheme)
    |enforce[-_]eager|swap[-_]space|max[-_]num[-_](?:seqs|batched)|enable[-_](?:auto|prefix|chunked)|served[-_]model[-_]name
    |non-default\ args|failed\ core|stack\ trace|broadcast\ block|cuda\ ?graph|attention\ backend|compute\ capability\ not
    |prompt\ throughput|received\ request|application\ startup|routes\ are                              # sentences
    """,
    re.VERBOSE | re.IGNORECASE,
)
ALLOWED = {
    "engines/registry.py": ("vllm", "the engine that is meant where nobody says which"),
    "engines/pytorch.py": (
        "flashinfer nccl- psm_ sem.loky sem.mp torch_",
        "what every engine leaves that runs on PyTorch",
    ),
    "engines/module_options.py": ("served-model-name", "as two engines call it"),
    "engines/rules.py": ("max-num-seqs", "an example in a message"),
    "engines/sizing.py": ("max_model_len", "a key of what `plan --json` prints"),
    "cli/engine.py": ("vllm", "examples"),
    "cli/fleet.py": ("vllm", "the router that is typed by its name"),
    "cli/main.py": ("vllm", "an example of a file's name"),
    "cli/options.py": ("vllm", "--vllm-version, which is typed for any engine"),
    "cli/hints.py": ("vllm", "--vllm, which is typed for any engine"),
    "cli/diagnose.py": ("vllm", "--vllm-version, and examples"),
    "cli/rehearse.py": ("vllm", "what the rehearsal runs"),
    "cli/rehearse_intro.py": ("vllm", "what the rehearsal acts, or runs"),
    "on_host/ports/endpoint.py": ("max_model_len", "as two engines call it in what /v1/models lists"),
    "on_host/secrets/places.py": (
        "vllm",
        "what is secret in a text is one rule set, whoever wrote the text: of the keys after its --api-key all",
    ),
}
"""The words that a file may hold, and why."""


def _read_by_programs(tree: ast.Module) -> Iterator[str]:
    """The names and texts of a module, without those that only a reader sees."""
    for_readers = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str | bytes) and id(node) not in for_readers:
                yield node.value if isinstance(node.value, str) else node.value.decode("latin-1")
        else:
            yield from (value for _, value in ast.iter_fields(node) if isinstance(value, str))


def _words(file: Path) -> set[str]:
    texts = _read_by_programs(ast.parse(file.read_text(encoding="utf-8")))
    return {match[0].lower() for text in texts for match in WORDS.finditer(text)}


def test_nothing_else_knows_what_is_an_engines() -> None:
    named = {
        name: words
        for file in sorted(PACKAGE.rglob("*.py"))
        if not (name := file.relative_to(PACKAGE).as_posix()).startswith(ROOMS) and (words := _words(file))
    }
    assert named == {name: set(words.split()) for name, (words, _) in ALLOWED.items()}


def test_what_vllm_says_of_itself_would_be_noticed() -> None:
    vllm = registry.get("vllm")
    caches = [place.below for places in vllm.footprint.caches[:3] for place in places]
    texts = [vllm.kind, vllm.key, vllm.patience or "", vllm.log_name, vllm.footprint.called, *caches]
    assert [text for text in texts if not WORDS.search(text)] == []
    assert _words(PACKAGE / "engines/vllm/log/failures.py") >= {"workerproc", "enginecore"}
    assert _words(PACKAGE / "engines/vllm/options.py") >= {"kv-cache-dtype", "tensor-parallel-size"}
