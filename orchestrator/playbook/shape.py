"""Which keys may stand in a playbook, and how do they go together?"""

from __future__ import annotations

import ipaddress
from typing import Annotated, Any

from pydantic import (
    BeforeValidator,
    Field,
    SecretStr,
    Strict,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError

from orchestrator.base.consents import Consent
from orchestrator.engines import registry
from orchestrator.engines.command_line import checked_value, rendered
from orchestrator.engines.options import OptionValue
from orchestrator.on_host.secrets.secrets import brief, holds_secret, is_secret, redacted
from orchestrator.playbook.parts import (
    CheckpointSettings,
    Citation,
    ContextLength,
    Count,
    EngineSettings,
    Figures,
    Model,
    Needs,
    OneLine,
    Parallel,
    PlaybookPart,
    SmokeSettings,
)
from orchestrator.playbook.setting import Setting, variable_name

USEFUL_TOKENS = 32_768
"""A context that most work fits into: a model is spread over more cards for the sake of this much, not for more."""


def _argument_name(name: Any, info: ValidationInfo) -> str:
    """An option's name as its engine allows it; the engine is read before the arguments are."""
    engine = info.data.get("engine", EngineSettings()).kind
    return registry.get(engine).arguments.checked_name(name)


def _stated(tokens: Any, info: ValidationInfo) -> Any:
    """A context that is left out stands for the one that is chosen for the host."""
    if tokens is not None:
        return tokens
    if not info.data.get("choose"):
        raise PydanticCustomError("missing", "Field required")
    return USEFUL_TOKENS


class Shape(PlaybookPart):
    """The keys of a playbook, whether they came from a file or from the command line."""

    description: str = ""
    model: Model
    checkpoint: CheckpointSettings = CheckpointSettings()
    engine: EngineSettings = EngineSettings()
    parallel: Parallel = Parallel()
    choose: Annotated[bool, Strict()] = False
    """Whether GPUs, context, parsers and what the cards ask for are chosen for the host where they are left out."""
    context: Annotated[ContextLength, BeforeValidator(_stated)] = Field(None, validate_default=True)
    """Tokens of one request, prompt and answer together, always passed as --max-model-len; `auto` leaves it to the engine, which
    takes as many as fit."""
    arguments: dict[
        Annotated[str, BeforeValidator(_argument_name)],
        Annotated[OptionValue, BeforeValidator(checked_value)],
    ] = Field({})
    """The engine's own options by long name: `true` is a bare option, a list or mapping becomes JSON."""
    environment: dict[Annotated[str, BeforeValidator(variable_name)], Setting] = Field({})
    listen: OneLine = "127.0.0.1"
    """The address that the engine binds; one that other machines reach needs the consent listen-openly."""
    port: Annotated[int, Strict(), Field(ge=1, le=65535)] = 8000
    needs: Needs = Needs()
    consents: tuple[Consent, ...] = ()
    smoke: SmokeSettings = SmokeSettings()
    figures: Figures = Figures()
    sources: tuple[Citation, ...] = ()
    """Where what the file states was read."""
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
