"""What is an engine to the rest of the house?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from orchestrator.engines.distribution import Distribution
from orchestrator.engines.kv_cache import CacheQuestion, KvCache
from orchestrator.engines.options import Options, OptionValue, Wanted
from orchestrator.engines.router import Router
from orchestrator.engines.rules import ArgumentRules, VariableRules
from orchestrator.facts.source import Package
from orchestrator.on_host.footprint import Footprint

if TYPE_CHECKING:
    from orchestrator.engines.log_grammar import LogGrammar


@dataclass(frozen=True)
class Probes:
    """How its server is asked besides what OpenAI's API says of models and completions: the path that answers 200 once it is
    up, the counter in /metrics of the tokens that it has made, and the gauges there of the requests that it has."""

    health_path: str
    counter: str
    at_work: tuple[str, ...] = ()


@dataclass(frozen=True)
class CacheType:
    """What the KV cache is stored as where no option says so: the checkpoint's config files decide.

    `declared` is what they come to, of the files (with a config.json) as JSON says them and a version of the engine: "auto"
    is the model's own dtype, and where the version is not known (None), what every release makes of them; None is what no
    engine would read. `members`: what the
    members of those files are called that decide it; none, where nobody knows how this engine reads them.
    """

    declared: Callable[[Mapping[str, Mapping[str, Any]], str | None], str | None] = (
        lambda _documents, _version: "auto"
    )
    members: frozenset[str] = frozenset()


def _not_known(_question: CacheQuestion) -> KvCache | None:
    return None


@dataclass(frozen=True)
class SuitedOption:
    """An option that suits a model, None where it is left out, with the reason; a `gamble` where that may not be enough."""

    option: str
    value: OptionValue | None
    reason: str
    gamble: bool = False


@dataclass(frozen=True)
class ReadEngine:
    """One kind of engine whose logs are read, whoever launched it: what a diagnosis and its remedy need to know of it.

    `title` is its name in sentences, `port` where it listens unless it is told otherwise. `log_name` is what the log of a
    launch is called; `grammar` imports how it reads, since most commands read none.
    """

    kind: str
    title: str
    arguments: ArgumentRules
    variables: VariableRules
    port: int
    log_name: str
    grammar: Callable[[], LogGrammar]

    @cached_property
    def log(self) -> LogGrammar:
        """How its log reads."""
        return self.grammar()


@dataclass(frozen=True)
class Engine(ReadEngine):
    """One kind of engine that is launched: `kind` is the name by which a playbook asks for it.

    `launched` makes its options of what is asked. `key` is the variable that holds the API
    key its server asks for, `patience` the one in which it has a time limit (seconds) of its own for its start. `footprint` is what it leaves
    on a host. `model` is what it reads out of a checkpoint's config files (with a config.json) as JSON says them, in a version of
    its own: texts by the names of the text model's keys. `kv_cache` answers what a model keeps in its KV cache on one GPU, None
    where that is not known. `parsers` suggests how what a model writes is read: by its type, its name on the Hub and the engine's
    version. `whole_experts` is the option by which each GPU gets some of the experts in full instead of a part of each. `fits_context`: whether a version takes as many tokens of context as fit, where it is left to it ("auto").
    `dumps` (a shell pattern) is what the files in a launch's folder are called in which it leaves stacks. `meeting` is the option
    for the port where the ranks of several hosts meet. `router` is the server that shares requests out among several of it.
    """

    package: Package
    launched: Callable[[Wanted], Options]
    key: str
    server: Probes
    footprint: Footprint
    cache_type: CacheType = CacheType()
    model: Callable[[Mapping[str, Mapping[str, Any]], str | None], Mapping[str, str]] = (
        lambda _files, _version: {}
    )
    kv_cache: Callable[[CacheQuestion], KvCache | None] = _not_known
    parsers: Callable[[str, str, str | None], Iterable[SuitedOption]] = lambda _type, _name, _version: ()
    whole_experts: SuitedOption | None = None
    fits_context: Callable[[str], bool] = lambda _version: False
    patience: str | None = None
    dumps: str | None = None
    meeting: str | None = None
    distribution: Distribution = field(default_factory=Distribution)
    router: Router | None = None
