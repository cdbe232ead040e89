"""Which keys may stand in a playbook, and which values are right for each?"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SecretStr,
    Strict,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import CoreSchema

from orchestrator.base.consents import Consent
from orchestrator.engines import registry
from orchestrator.engines.command_line import checked_value, rendered
from orchestrator.engines.options import OptionValue
from orchestrator.on_host.secrets.secrets import brief, holds_secret, is_secret, redacted


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

    repository: Annotated[
        str,
        _matching(r"([A-Za-z0-9][\w.-]*/)?(?!.*(--|\.\.))[A-Za-z0-9][\w.-]*", "ORGANISATION/NAME of the Hub"),
    ]
    revision: Annotated[str, _matching(r"(?!.*\.\.)[A-Za-z0-9][\w./-]*", "a branch, tag or commit")] = "main"
    served_name: Annotated[str, _matching(r"[A-Za-z0-9][\w.:/@-]*", "letters, digits and ._:/@-")] | None = (
        None
    )


class CheckpointSettings(PlaybookPart):
    """Where the model's files lie on the host, and which of the repository's files are not wanted."""

    folder: Folder | None = None
    ignore: tuple[OneLine, ...] = ()


class EngineSettings(PlaybookPart):
    """The inference server: which versions will do, and the interpreter on the host that has it."""

    kind: Annotated[str, WithJsonSchema({"type": "string", "enum": list(registry.kinds())})] = registry.USUAL
    version: str = ">=0.10"
    python: Annotated[str, _matching(r"[\w/~.][^\0\r\n]*", "a path on the host, or a name on its PATH")] = (
        "python3"
    )

    @field_validator("kind")
    @classmethod
    def _is_known(cls, kind: str) -> str:
        if kind not in registry.kinds():
            raise ValueError(f"{brief(kind, 60)!r} is wrong; allowed: {', '.join(registry.kinds())}")
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

    def accepts(self, version: str) -> bool:
        """Whether this version of the engine will do; a development build counts as its release."""
        try:
            return SpecifierSet(self.version).contains(Version(version).base_version)
        except ValueError:
            return False


class Parallel(PlaybookPart):
    """Over how many GPUs the model is spread, by each kind of parallelism."""

    tensor: Count = 1
    pipeline: Count = 1
    data: Count = 1

    @property
    def gpus(self) -> int:
        return self.tensor * self.pipeline * self.data


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


def _scalar_text(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(
            "is not a variable's value; allowed: text or a number (write 1 or 0, not true or false)"
        )
    if re.search(r"[\0\r\n]", str(value)):
        raise ValueError("a variable's value is one line without NUL characters")
    return str(value)


class Setting(PlaybookPart):
    """A variable of the engine's environment, and why it is set."""

    value: Annotated[
        str | SecretStr, BeforeValidator(_scalar_text), WithJsonSchema({"type": ["string", "number"]})
    ]
    reason: str = ""

    @property
    def plain(self) -> str:
        """The value itself, to be used and never shown."""
        return self.value.get_secret_value() if isinstance(self.value, SecretStr) else self.value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """A bare value stands for itself without a reason."""
        return {"anyOf": [{"type": ["string", "number"]}, handler(core)]}

    @model_validator(mode="before")
    @classmethod
    def _bare_value(cls, setting: Any) -> Any:
        return setting if isinstance(setting, Mapping | Setting) else {"value": setting}


def _argument_name(name: Any, info: ValidationInfo) -> str:
    """An option's name as its engine allows it; the engine is read before the arguments are."""
    engine = info.data.get("engine", EngineSettings()).kind
    return registry.get(engine).arguments.checked_name(name)


def _variable_name(name: Any) -> str:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"{brief(str(name), 60)!r} cannot name a variable; allowed: letters, digits and _")
    if name.startswith("DEPLOY_"):
        raise ValueError(f"{name} is kept for this program's own marks")
    return name


class Shape(PlaybookPart):
    """The keys of a playbook, whether they came from a file or from the command line."""

    description: str = ""
    model: Model
    checkpoint: CheckpointSettings = CheckpointSettings()
    engine: EngineSettings = EngineSettings()
    parallel: Parallel = Parallel()
    context: Count
    """Tokens of one request, prompt and answer together; always passed as --max-model-len."""
    arguments: dict[
        Annotated[str, BeforeValidator(_argument_name)],
        Annotated[OptionValue, BeforeValidator(checked_value)],
    ] = {}
    """The engine's own options by long name: `true` is a bare option, a list or mapping becomes JSON."""
    environment: dict[Annotated[str, BeforeValidator(_variable_name)], Setting] = {}
    listen: OneLine = "127.0.0.1"
    """The address that the engine binds; one that other machines reach needs the consent listen-openly."""
    port: Annotated[int, Strict(), Field(ge=1, le=65535)] = 8000
    needs: Needs = Needs()
    consents: tuple[Consent, ...] = ()
    smoke: SmokeSettings = SmokeSettings()
    figures: Figures = Figures()
    ready_timeout: Annotated[Count, Field(le=30 * 24 * 3600)] = 1800
    """Seconds that one launch may take until it is healthy, at most 30 days."""

    @field_validator("listen")
    @classmethod
    def _is_an_address(cls, text: str) -> str:
        if text != "localhost":
            try:
                ipaddress.ip_address(text)
            except ValueError:
                raise ValueError(
                    f"{brief(text, 60)!r} is wrong; allowed: localhost or an IP address"
                ) from None
        return text

    @field_validator("arguments")
    @classmethod
    def _no_credentials(cls, arguments: dict[str, OptionValue]) -> dict[str, OptionValue]:
        for name, value in arguments.items():
            items = rendered(name, value)
            if redacted(items) != list(items):
                raise ValueError(
                    f"{name} holds a credential, and any user of the host can read it in the process list; "
                    "allowed: one in the environment (--env NAME)"
                )
        return arguments

    @field_validator("environment")
    @classmethod
    def _hide_secrets(cls, environment: dict[str, Setting]) -> dict[str, Setting]:
        return {
            name: Setting(value=SecretStr(item.value), reason=item.reason)
            if isinstance(item.value, str) and (is_secret(name) or holds_secret(f"{name}={item.value}"))
            else item
            for name, item in environment.items()
        }

    @field_validator("needs")
    @classmethod
    def _enough_gpus(cls, needs: Needs, info: Any) -> Needs:
        parallel = info.data.get("parallel", Parallel())
        if needs.gpus and needs.gpus < parallel.gpus:
            raise ValueError(f"gpus: {needs.gpus} is fewer than the {parallel.gpus} that parallel asks for")
        return needs

    @field_validator("ready_timeout")
    @classmethod
    def _outlasts_the_engine(cls, seconds: int, info: Any) -> int:
        name = registry.get(info.data.get("engine", EngineSettings()).kind).patience or ""
        own = info.data.get("environment", {}).get(name)
        if own and own.plain.isdecimal() and int(own.plain) >= seconds:
            raise ValueError(
                f"{seconds} s would end a launch before the engine's own {name} of {own.plain} s; "
                f"allowed: more than {own.plain}"
            )
        return seconds
