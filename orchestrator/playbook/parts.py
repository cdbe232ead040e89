"""What does each part of a playbook hold, and which values are right there?"""

from __future__ import annotations

import datetime
import re
from typing import Annotated, Any, Literal

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from orchestrator.engines import registry
from orchestrator.engines.node import Balance, Through
from orchestrator.engines.options import Context
from orchestrator.on_host.secrets.secrets import brief
from orchestrator.playbook.pinned import INDEX, PinnedEngine


def _matching(pattern: str, allowed: str) -> AfterValidator:
    def check(text: str) -> str:
        if not re.fullmatch(pattern, text, re.ASCII):
            raise ValueError(f"{brief(text, 60)!r} is wrong; allowed: {allowed}")
        return text

    return AfterValidator(check)


Name = Annotated[
    str, _matching(r"[a-z0-9][a-z0-9._-]{0,63}", "a-z, 0-9, '.', '_' and '-', at most 64, not a sign first")
]
OneLine = Annotated[str, _matching(r"[^\0\r\n]+", "one line of text")]
Count = Annotated[int, Strict(), Field(ge=1, le=2**31 - 1)]


def _tokens(value: Any) -> Any:
    if value != "auto" and (type(value) is not int or not 1 <= value < 2**31):
        raise ValueError(f"{brief(str(value), 60)!r} is wrong; allowed: a number of tokens from 1, or auto")
    return value


ContextLength = Annotated[
    Context,
    BeforeValidator(_tokens),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": 2**31 - 1},
                {"const": "auto", "type": "string"},
            ]
        }
    ),
]
Figure = Annotated[int, Strict(), Field(ge=0, le=2**63 - 1)]
Folder = Annotated[
    OneLine, _matching(r"[/~].*", "an absolute path on the host, or one that begins with ~ (its home folder)")
]


class PlaybookPart(BaseModel):
    """A part of a playbook: unknown keys are mistakes, values do not change."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, allow_inf_nan=False, defer_build=True
    )


class Model(PlaybookPart):
    """Which files of the Hub, and under which name they are served."""

    repository: (
        Annotated[
            str,
            _matching(
                r"([A-Za-z0-9][\w.-]*/)?(?!.*(--|\.\.))[A-Za-z0-9][\w.-]*", "ORGANISATION/NAME of the Hub"
            ),
        ]
        | None
    )
    """None: the files are in the checkpoint's folder already, and nothing is fetched."""
    revision: Annotated[str, _matching(r"(?!.*\.\.)[A-Za-z0-9][\w./-]*", "a branch, tag or commit")] = "main"
    served_name: Annotated[str, _matching(r"[A-Za-z0-9][\w.:/@-]*", "letters, digits and ._:/@-")] | None = (
        None
    )
    precision: (
        Annotated[str, _matching(r"[a-z0-9][a-z0-9+.-]{0,15}", "a word such as bf16, fp8 or nvfp4")] | None
    ) = None
    """What most of the weights are stored as, for whoever chooses between variants."""


class CheckpointSettings(PlaybookPart):
    """Where the model's files lie on the host, and which of the repository's files are not wanted."""

    folder: Folder | None = None
    ignore: tuple[OneLine, ...] = ()
    source: Literal["hosts", "hub"] = "hosts"
    """Whether hosts that serve together get the files from each other, as far as they can, or each for itself from the Hub."""


class EngineSettings(PlaybookPart):
    """The inference server: which versions will do, and the interpreter on the host that has it: one that is named, or that
    of an environment which is installed."""

    kind: Annotated[str, WithJsonSchema({"type": "string", "enum": list(registry.launched())})] = (
        registry.USUAL
    )
    version: str = ">=0.10"
    python: Annotated[str, _matching(r"[\w/~.][^\0\r\n]*", "a path on the host, or a name on its PATH")] = (
        "python3"
    )
    install: OneLine | None = None
    """One release, as in "vllm==0.16.0", that is installed by us; where `python` is named, that counts."""
    index: tuple[Annotated[OneLine, _matching(INDEX, "an http(s) address without credentials")], ...] = ()
    """Package indexes (PEP 503) that are searched for it before the host's own."""
    wheels: (
        Annotated[
            OneLine, _matching(r"[/~].*", "an absolute path on this machine, or one that begins with ~")
        ]
        | None
    ) = None
    """A folder on the controller whose wheels are sent for it; where no index is named nothing else is asked."""

    @field_validator("kind")
    @classmethod
    def _is_known(cls, kind: str) -> str:
        if kind not in registry.launched():
            raise ValueError(f"{brief(kind, 60)!r} is wrong; allowed: {', '.join(registry.launched())}")
        return kind

    @field_validator("version")
    @classmethod
    def _is_a_specifier(cls, text: str) -> str:
        try:
            SpecifierSet(text)
        except InvalidSpecifier:
            raise ValueError(
                f"{brief(text, 60)!r} is wrong; allowed: a version range like '>=0.15,<0.20'"
            ) from None
        return text

    @field_validator("install")
    @classmethod
    def _is_one_release(cls, text: str | None, info: ValidationInfo) -> str | None:
        if text is None:
            return None
        names = registry.get(info.data.get("kind", registry.USUAL)).package.distributions
        try:
            pinned = PinnedEngine.of(text)
        except ValueError as error:
            raise ValueError(f"{brief(text, 60)!r} is wrong; {error}") from None
        if pinned.name not in names:
            raise ValueError(f"{brief(text, 60)!r} is wrong; allowed: {', '.join(names)}")
        version = info.data.get("version", "")
        if not SpecifierSet(version).contains(Version(pinned.version).base_version):
            raise ValueError(f"{brief(text, 60)!r} is outside {version}, which engine.version allows")
        return str(pinned)

    @property
    def pinned(self) -> PinnedEngine | None:
        """The engine of our own that is asked for; None where the interpreter is named."""
        return (
            None
            if self.install is None or "python" in self.model_fields_set
            else PinnedEngine.of(self.install)
        )

    @property
    def interpreter(self) -> str:
        """The Python on the host that has the engine, or will have it."""
        return self.pinned.python if self.pinned else self.python

    def accepts(self, version: str) -> bool:
        """Whether this version of the engine will do; a development build counts as its release."""
        if self.pinned:
            return self.pinned.fits(version)
        try:
            return SpecifierSet(self.version).contains(Version(version).base_version)
        except ValueError:
            return False


class Parallel(PlaybookPart):
    """Over how many GPUs the model is spread, by each kind of parallelism."""

    tensor: Count = 1
    pipeline: Count = 1
    data: Count = 1
    nodes: Count = 1
    """Over how many hosts all of them lie, the same number on each."""
    balance: Balance = "internal"
    """Which hosts answer requests where copies (`data`) lie on several: the head, each for its own copies, or each copy."""
    through: Through | None = None
    """By what ranks on several hosts are started; left out: by the engine's own way where its release has one, else by Ray."""

    @property
    def gpus(self) -> int:
        """On each host."""
        return self.ranks // self.nodes

    @property
    def ranks(self) -> int:
        return self.tensor * self.pipeline * self.data

    @model_validator(mode="after")
    def _alike(self) -> Parallel:
        if self.ranks % self.nodes:
            raise ValueError(
                f"nodes: {self.ranks} ranks cannot be shared evenly by {self.nodes} hosts; allowed: a divisor of {self.ranks}"
            )
        if self.data > 1 and self.data % self.nodes:
            raise ValueError(
                f"nodes: {self.data} copies cannot be shared evenly by {self.nodes} hosts; allowed: a divisor of {self.data}"
            )
        if self.balance == "external" and self.data != self.nodes:
            raise ValueError("balance: external is for one copy a host; allowed: internal, hybrid")
        if self.through == "ray" and self.data > 1:
            raise ValueError(
                "through: each copy lies whole on a host, and Ray is for one over several; allowed: engine"
            )
        return self


class Needs(PlaybookPart):
    """What the host must have; `gpus: 0` is an engine that runs on the CPU."""

    gpus: Figure | None = None
    gpu_memory_gib: Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)] = 0


class SmokeSettings(PlaybookPart):
    """The request that must be answered before a launch counts as healthy."""

    prompt: Annotated[str, Field(min_length=1)] = "2+2="
    max_tokens: Count = 8


class Figures(PlaybookPart):
    """Numbers of the checkpoint for a plan made before its files are there; the files win once they are."""

    weights_bytes: Figure | None = None
    replicated_bytes: Figure | None = None
    """The part of the weights that every tensor-parallel rank holds in full."""
    shards: Figure | None = None
    layers: Figure | None = None
    kv_lora_rank: Figure | None = None
    qk_rope_head_dim: Figure | None = None
    kv_heads: Figure | None = None
    head_dim: Figure | None = None
    kv_cache: Literal["fp8", "bf16"] | None = None
    """What the checkpoint itself asks for."""
    config: dict[str, Any] = Field({})
    """Members of its config.json: by them the engine's own rules say what a token costs, where the layers are not alike."""


class Citation(PlaybookPart):
    """A fact that a playbook or a profile rests on, where it was read, and as of which day."""

    fact: OneLine
    source: OneLine
    date: datetime.date
