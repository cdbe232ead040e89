"""What will be launched, as one value: which options and variables, with which values, set by whom?

It is worked out once (`plan/resolve.py`), by the engine's own names. A command line and texts are made of it where
somebody outside reads them, and are not read back: an option's value stays the number, the list or the text that it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

from orchestrator.engines import ray
from orchestrator.engines.node import Node
from orchestrator.engines.sizing import Overhead
from orchestrator.engines.variable import Origin, Variable

if TYPE_CHECKING:
    from typing_extensions import Self

OptionValue: TypeAlias = "bool | int | float | str | list[Any] | dict[str, Any]"
"""True is a bare option; a list or a mapping is written as JSON."""

Context: TypeAlias = int | Literal["auto"]
"""Tokens of one request; "auto": the engine takes as many as fit, at most the model's own."""

_Value = TypeVar("_Value", covariant=True)
_MOST = 1e15
"""Beyond any count of bytes or tokens; of NaN nothing is below it."""


@dataclass(frozen=True)
class Option(Generic[_Value]):
    """The value of an option, and who set it."""

    value: _Value
    origin: Origin


@dataclass(frozen=True)
class Wanted:
    """What is asked of any engine, in nobody's own names; sizes of parallelism are counts of ranks."""

    python: str
    """The interpreter on the host that has the engine."""
    folder: Option[str]
    """The checkpoint's, an absolute path on the host."""
    served_name: Option[str]
    listen: Option[str]
    port: Option[int]
    tensor: Option[int]
    pipeline: Option[int]
    data: Option[int]
    context: Option[Context]
    arguments: Mapping[str, Option[OptionValue]] = field(default_factory=dict)
    """The engine's own options, by long name without dashes."""
    environment: tuple[Variable, ...] = ()
    node: Node | None = None
    """Which of several hosts this is; None where the model lies on this one alone."""


@dataclass(frozen=True)
class Adaptation:
    """What was asked for in words that this version of the engine does not have, and what it gets instead."""

    asked: str
    instead: tuple[str, ...]
    """Options or a variable, as they are typed; none where it is left out."""
    when: str
    """In which releases the words differ: "since vLLM 0.13.0"."""
    why: str = ""
    """Why it may be left out."""

    @property
    def sentence(self) -> str:
        if self.instead:
            return f"{self.asked} is {' '.join(self.instead)} {self.when}"
        return f"{self.asked}: {self.why} ({self.when})"

    def as_json(self) -> dict[str, Any]:
        return {"asked": self.asked, "instead": list(self.instead), "when": self.when, "why": self.why}


@dataclass(frozen=True)
class Addition:
    """An option that nobody asked for, and why it is launched all the same."""

    option: str
    """As it is typed, with its value."""
    reason: str

    def as_json(self) -> dict[str, str]:
        return {"option": self.option, "reason": self.reason}


@dataclass(frozen=True)
class Objection:
    """An option for which this version of the engine would end at once; `known` leads to the command to type."""

    code: str
    sentence: str
    option: str
    known: Mapping[str, str]


@dataclass(frozen=True)
class Default:
    """What this version of an engine takes where an option or a variable is not given."""

    name: str
    value: float | str
    since: str
    """The release from which on it does."""
    before: float | str | None
    """What the releases before that took; None where it never moved."""

    @property
    def sentence(self) -> str:
        return f"{self.name} {self.value} ({self.before} before {self.since})"

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "value": self.value, "since": self.since, "before": self.before}


@dataclass(frozen=True)
class Options(ABC):
    """The options and variables of one launch; each engine has its own kind."""

    engine: ClassVar[str]
    """The engine's name in sentences."""
    context_option: ClassVar[str]
    """Its options' names without dashes: for the tokens of one request, for the share of each card that it takes, for what the KV cache
    is stored as, for the GPUs that share a layer and, where there is one, for those of them that share a request's tokens."""
    share_option: ClassVar[str]
    kv_dtype_option: ClassVar[str]
    tensor_option: ClassVar[str]
    context_parallel_option: ClassVar[str | None] = None

    python: str
    """The interpreter on the host that has the engine."""
    folder: str
    """The checkpoint's, an absolute path on the host."""
    asked_context: Option[Context]
    """What a person asked for; a remedy may only ask for fewer."""
    given: Mapping[str, Option[OptionValue]] = field(default_factory=dict)
    """By the option's long name without dashes, in the order of the command line."""
    environment: tuple[Variable, ...] = ()
    """What is set on top of the host's own environment."""
    removed: tuple[str, ...] = ()
    """Names that must not reach the engine even where the host's own environment sets them."""
    adaptations: tuple[Adaptation, ...] = ()
    """In what it differs from what was asked for, so that this version takes it."""
    additions: tuple[Addition, ...] = ()
    node: Node | None = None
    """Which of several hosts this is; None where the model lies on this one alone."""

    @property
    @abstractmethod
    def argv(self) -> tuple[str, ...]:
        """The command line: no shell reads it."""

    @property
    def through_ray(self) -> bool:
        """Whether its ranks on several hosts are started by a Ray of its own."""
        return self.node is not None and self.node.through == "ray"

    @property
    def files(self) -> Mapping[str, str]:
        """The texts, by name, that the command line finds in the launch's folder (`on_host/kinds/kind.HERE`)."""
        return ray.files() if self.through_ray else {}

    @property
    @abstractmethod
    def texts(self) -> Mapping[str, str]:
        """Each option's text as a log names it, for what speaks of logs and options alike: patches and people."""

    @abstractmethod
    def remedied(self, flags: Mapping[str, str | None], environment: Mapping[str, str | None]) -> Self:
        """The same once a remedy has set these, or taken away (None) what is there; the last remedy wins."""

    @abstractmethod
    def consents(self) -> dict[str, str]:
        """The consents that this launch needs, each with what asks for it. Judged on the command line and the variables
        as the engine's own parser reads them, on purpose: a spelling is what a consent is evaded by."""

    @abstractmethod
    def code_beside(self) -> tuple[str, ...]:
        """What the command line names beside the model, from where the consent to run the model's code would run code of
        which no commit says which. Judged as consents are."""

    def for_version(self, version: str) -> Self:
        """The same as this version of the engine spells it, with a note of each difference (`adaptations`)."""
        return self

    def leaving_stacks(self, version: str) -> Self:
        """The same where this version can dump the stacks of a process that gets stuck: into the launch's own folder."""
        return self

    def objections(self, version: str) -> tuple[Objection, ...]:
        """For which options this version ends at once for certain; those that a remedy set are its patch's to judge."""
        return ()

    def unsupported(self, config: Mapping[str, Any], version: str) -> Objection | None:
        """Why this version certainly cannot run a checkpoint, by its config.json."""
        return None

    def moved_defaults(self, version: str, memory_gib: float | None, card: str | None) -> tuple[Default, ...]:
        """The defaults of this version, on a card of so many GiB, that were others in earlier ones and are not overridden."""
        return ()

    @abstractmethod
    def not_taken(self, version: str) -> tuple[str, ...]:
        """A sentence for each option and variable that this version of the engine may refuse or ignores."""

    @property
    @abstractmethod
    def ranks(self) -> int:
        """Over how many GPUs the weights of one copy of the model are spread, on all of its hosts."""

    @property
    @abstractmethod
    def tensor(self) -> int:
        """Over how many GPUs each layer is spread."""

    @property
    @abstractmethod
    def gpus(self) -> int:
        """How many GPUs the launch takes on this host."""

    @property
    @abstractmethod
    def context(self) -> Context:
        """Tokens of one request, as they are launched."""

    @property
    @abstractmethod
    def context_parallel(self) -> int:
        """Over how many ranks the KV cache of one request is spread."""

    @property
    @abstractmethod
    def kv_dtype(self) -> str | None:
        """What the KV cache is to be stored as; None where the checkpoint decides."""

    @property
    def kv_dtype_setting(self) -> str:
        """The same as a log names it."""
        return self.kv_dtype_option.replace("-", "_")

    @abstractmethod
    def memory_share(self, version: str | None) -> float:
        """The share of each card that the engine takes."""

    @abstractmethod
    def overhead(
        self,
        version: str | None,
        config: Mapping[str, Any] | None,
        memory_gib: float | None,
        card: str | None,
    ) -> Overhead:
        """What each card holds besides weights and KV cache: of a model with this config.json, None before it is there, on a card
        of that name, memory as torch sees it."""

    def keeps_fp8(self, version: str | None, attention: str | None, compute_cap: str | None) -> bool:
        """Whether this release is known to take a KV cache in FP8 for such a model on such a card."""
        return False

    @property
    def step_tokens(self) -> int | None:
        """How many tokens one step computes at most; None where the engine decides."""
        return None

    @property
    def state_dtype(self) -> str | None:
        """What the recurrent part of a state is to be stored as; None where the engine decides."""
        return None

    @abstractmethod
    def taking(self, share: float) -> Self:
        """The same with this share of each card."""

    @property
    def loads_all_weights(self) -> bool:
        """Whether every card is known to hold its part of the weights as they are in the checkpoint."""
        return False

    @property
    @abstractmethod
    def sizes_its_cache(self) -> bool:
        """Whether the KV cache has a size of its own, so that the share of the card decides less."""

    def value(self, name: str) -> OptionValue | None:
        """What an option is set to; None where it is not given."""
        option = self.given.get(name)
        return None if option is None else option.value

    def number(self, name: str) -> float | None:
        """The number that an option has, None where it is none that can be reckoned with: the engine will refuse it."""
        value = self.value(name)
        try:
            number = float(value) if isinstance(value, int | float | str) and value is not True else None
        except (ValueError, OverflowError):
            return None
        return number if number is not None and abs(number) <= _MOST else None

    def variable(self, name: str) -> str | None:
        """What the engine gets for a variable, None where it is not set here."""
        return next((variable.sent for variable in self.environment if variable.name == name), None)

    @property
    def sent(self) -> dict[str, str]:
        """Every variable with its value; only for a channel that no other user and no file sees."""
        return {variable.name: variable.sent for variable in self.environment}

    def changed(self, changes: Mapping[str, Option[OptionValue] | None]) -> Self:
        """The same with these options set, or taken away (None), by their exact names."""
        given = {name: option for name, option in {**self.given, **changes}.items() if option is not None}
        return replace(self, given=given)

    def adapting(self, note: Adaptation) -> Self:
        """The same with one more note."""
        return replace(self, adaptations=(*self.adaptations, note))

    def with_variables(self, variables: Iterable[Variable]) -> Self:
        """The same with these variables set."""
        kept = {variable.name: variable for variable in (*self.environment, *variables)}
        removed = tuple(name for name in self.removed if name not in kept)
        return replace(self, environment=tuple(kept.values()), removed=removed)

    def without_variables(self, names: Iterable[str]) -> Self:
        """The same with these variables kept from the engine."""
        removed = dict.fromkeys((*self.removed, *names))
        kept = tuple(variable for variable in self.environment if variable.name not in removed)
        return replace(self, environment=kept, removed=tuple(removed))
