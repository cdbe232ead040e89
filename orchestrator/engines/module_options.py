"""What does a launch hold whose engine is a Python module with long options, as argparse reads them?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from orchestrator.engines.command_line import canonical, rendered, text_of
from orchestrator.engines.consents import ConsentRules, needed
from orchestrator.engines.options import Context, Option, Options, OptionValue, Wanted
from orchestrator.engines.variable import Variable

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class ModuleOptions(Options):
    """The options of `python -m MODULE`, by their canonical names. An engine says what they are called."""

    module: ClassVar[str]
    model_option: ClassVar[str] = "model"
    pipeline_option: ClassVar[str]
    data_option: ClassVar[str]
    fits_context: ClassVar[bool] = False
    """Whether the context's option takes "auto"; where it does not, leaving it out leaves it to the engine."""
    rules: ClassVar[ConsentRules]

    @classmethod
    def of(cls, wanted: Wanted) -> Self:
        """The options that come of what is asked of any engine."""
        given: dict[str, Option[OptionValue]] = {
            cls.model_option: wanted.folder,
            "served-model-name": wanted.served_name,
            "host": wanted.listen,
            "port": wanted.port,
            cls.tensor_option: wanted.tensor,
        }
        if wanted.pipeline.value != 1:
            given[cls.pipeline_option] = wanted.pipeline
        if wanted.data.value != 1:
            given[cls.data_option] = wanted.data
        if cls.fits_context or wanted.context.value != "auto":
            given[cls.context_option] = wanted.context
        return cls(
            python=wanted.python,
            folder=wanted.folder.value,
            asked_context=wanted.context,
            given={**given, **wanted.arguments},
            environment=wanted.environment,
            node=wanted.node,
        )

    @property
    def argv(self) -> tuple[str, ...]:
        items = [item for name, option in self.given.items() for item in rendered(name, option.value)]
        return (self.python, "-m", self.module, *items)

    @property
    def texts(self) -> Mapping[str, str]:
        """By name with underscores, as logs have it; a switch is "True"."""
        return {name.replace("-", "_"): "True" if text is None else text for name, text in self.named_texts()}

    def named_texts(self) -> Iterator[tuple[str, str | None]]:
        """Each option with the text of its value, None for a switch."""
        for name, option in self.given.items():
            yield name, None if option.value is True else text_of(option.value)

    def remedied(self, flags: Mapping[str, str | None], environment: Mapping[str, str | None]) -> Self:
        changed = self.changed(dict(_of_a_remedy(name, text) for name, text in flags.items()))
        asked = self.asked_context.value
        if asked != "auto" and (changed.number(self.context_option) or 0) > asked:
            # what a patch left room for once says nothing against a shorter context that is asked for now
            changed = changed.changed({self.context_option: self.asked_context})
        gone = [name for name, value in environment.items() if value is None]
        variables = [
            Variable.of_a_remedy(name, value) for name, value in environment.items() if value is not None
        ]
        return changed.with_variables(variables).without_variables(gone)

    def consents(self) -> dict[str, str]:
        return needed(self.argv, self.sent, self.rules, folder=self.folder)

    @property
    def ranks(self) -> int:
        return self.tensor * self.count(self.pipeline_option)

    @property
    def tensor(self) -> int:
        return self.count(self.tensor_option)

    @property
    def gpus(self) -> int:
        everywhere = self.ranks * self.count(self.data_option)
        return everywhere // (self.node.of if self.node else 1)

    @property
    def context(self) -> Context:
        number = self.number(self.context_option)
        return int(number) if number else self.asked_context.value

    @property
    def kv_dtype(self) -> str | None:
        dtype = self.texts.get(self.kv_dtype_setting, "auto")
        return None if dtype == "auto" else dtype

    def taking(self, share: float) -> Self:
        return self.changed({self.share_option: Option(share, "option")})

    def count(self, name: str) -> int:
        """The number of an option that counts, 1 where it is not given."""
        return int(self.number(name) or 1)


def _of_a_remedy(option: str, text: str | None) -> tuple[str, Option[OptionValue] | None]:
    """A switch as one: such a parser takes the word after `--enforce-eager true` for something else, the model say."""
    name = canonical(option.removeprefix("--"))
    value = True if text == "true" and "." not in name else text
    return name, None if value is None else Option(value, "remedy")
