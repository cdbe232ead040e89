"""What is a playbook called, where is it found, and what does a command change in it?"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, PrivateAttr, SecretStr, ValidationError, field_validator, model_validator

from orchestrator.base.errors import UsageError
from orchestrator.base.yaml_file import load_model
from orchestrator.engines import registry
from orchestrator.engines.node import Node
from orchestrator.engines.protocol import Engine
from orchestrator.engines.variable import Origin
from orchestrator.on_host.secrets.secrets import brief, is_secret
from orchestrator.playbook.names import called, files_in, variants_in
from orchestrator.playbook.overrides import Override, apply_overrides, parse_overrides
from orchestrator.playbook.parts import Figures, Name, SmokeSettings
from orchestrator.playbook.setting import Setting
from orchestrator.playbook.shape import Shape
from orchestrator.playbook.variants import Variant, merged

__all__ = [
    "Figures",
    "Playbook",
    "PlaybookFile",
    "Setting",
    "SmokeSettings",
    "find",
    "load",
    "with_variants",
]


class PlaybookFile(Shape):
    """A playbook as a file, with the variants of its model; a secret has no place in it."""

    variants: dict[Name, Variant] = Field({})
    """Other forms of the model by name: `fp8` in glm.yaml is the playbook glm-fp8."""

    @model_validator(mode="after")
    def _variants_are_whole(self) -> PlaybookFile:
        for name in self.variants:
            try:
                self.variant(name)
            except ValidationError as error:
                detail = error.errors(include_url=False)[0]
                where = ".".join(str(part) for part in detail["loc"])
                reason = detail["msg"].removeprefix("Value error, ")
                raise ValueError(f"variants.{name}: {where}: {reason}") from None
        return self

    def variant(self, name: str) -> PlaybookFile:
        """The file as it reads for one of its variants."""
        data = self.model_dump(exclude_unset=True, exclude={"variants"})
        return PlaybookFile.model_validate(merged(data, self.variants[name].model_dump(exclude_unset=True)))

    @field_validator("environment")
    @classmethod
    def _no_secrets(cls, environment: dict[str, Setting]) -> dict[str, Setting]:
        for name, item in environment.items():
            if isinstance(item.value, SecretStr) and is_secret(name):
                raise ValueError(f"{name} is a secret and has no place in a file; pass --env {name} instead")
        return environment


class Playbook(Shape):
    """One model's deployment, with the name that it has in every command and on the host."""

    name: Name
    source: Path | None = None
    """The file that it was read from."""
    _options: frozenset[tuple[str, ...]] = PrivateAttr(frozenset())
    """The keys that options of this command set."""
    _chosen: frozenset[tuple[str, ...]] = PrivateAttr(frozenset())
    """Those that were left open, and chosen for the host."""
    _instance: str | None = PrivateAttr(None)
    _node: Node | None = PrivateAttr(None)
    _forms: Mapping[str, int] = PrivateAttr({})

    @property
    def instance(self) -> str:
        """The name of the deployment: under it a host keeps state, lock and journal. The playbook's own, unless told."""
        return self._instance or self.name

    @property
    def node(self) -> Node | None:
        """Which of several hosts it is for; None where the model lies on one alone."""
        return self._node

    @property
    def serves(self) -> bool:
        """Whether requests are answered on this host."""
        return self._node is None or self._node.serves

    @property
    def forms(self) -> Mapping[str, int]:
        """Every playbook of its file by name with what its weights take, in bytes, where that is known."""
        return self._forms

    @property
    def served_name(self) -> str:
        """The model id that clients ask for."""
        return self.model.served_name or self.name

    @property
    def folder(self) -> str:
        """The checkpoint's folder on the host; `~` is the home folder there."""
        return self.checkpoint.folder or f"~/models/{self.name}"

    @property
    def kind(self) -> Engine:
        """What is known of the engine that it asks for."""
        return registry.get(self.engine.kind)

    @property
    def gpus(self) -> int:
        """How many GPUs the host must have; 0 for an engine on the CPU."""
        return self.parallel.gpus if self.needs.gpus is None else self.needs.gpus

    def origin(self, *key: str) -> Origin:
        """Who set a key: "default" where neither the file nor an option of this command did."""
        if any(key[: len(path)] == path for path in self._options):
            return "option"
        if any(key[: len(path)] == path for path in self._chosen):
            return "chosen"
        place: Any = self
        for part in key:
            stated = place if isinstance(place, Mapping) else getattr(place, "model_fields_set", ())
            if part not in stated:
                return "default"
            place = place[part] if isinstance(place, Mapping) else getattr(place, part)
        return "playbook"

    def as_instance(self, name: str) -> Playbook:
        """The playbook for a deployment of another name, beside others of the same playbook."""
        named = self.model_copy()
        named._instance = name
        return named

    def as_node(self, node: Node | None) -> Playbook:
        """The playbook for one of several hosts over which the model is spread; None for a host that serves alone."""
        own = self.model_copy()
        own._node = node
        return own

    def in_folder(self, folder: str) -> Playbook:
        """The playbook with its checkpoint in a folder that an option names."""
        checkpoint = self.checkpoint.model_copy(update={"folder": folder})
        moved = self.model_copy(update={"checkpoint": checkpoint})
        moved._options = self._options | {("checkpoint", "folder")}
        return moved

    def completed(self, values: Mapping[tuple[str, ...], Any]) -> Playbook:
        """The playbook with these values, which were chosen, by their keys, but for those that options of this command set."""
        wanted = [
            Override("", key, value, "") for key, value in values.items() if self.origin(*key) != "option"
        ]
        whole = Playbook.model_validate(apply_overrides(self.model_dump(exclude_unset=True), wanted))
        whole._options = self._options
        whole._chosen = self._chosen.union(item.path for item in wanted)
        whole._instance = self._instance
        whole._node = self._node
        whole._forms = self._forms
        return whole

    def with_overrides(
        self,
        settings: Sequence[str] = (),
        engine_args: Sequence[str] = (),
        env: Sequence[str] = (),
        *,
        ambient: Mapping[str, str] | None = None,
    ) -> Playbook:
        """The playbook as the options of one command change it.

        `settings` are KEY.PATH=VALUE (YAML; null takes the key away), `engine_args` NAME=VALUE or NAME,
        `env` NAME=VALUE, or NAME alone to take the value from `ambient`, so that a secret is in no command
        line. UsageError("invalid_option") names the option and says what is allowed.
        """
        overrides = parse_overrides(settings, engine_args, env, ambient or {})
        if not overrides:
            return self
        try:
            return self._overridden(overrides)
        except ValidationError as error:
            texts = {tuple(detail["loc"]) for detail in error.errors() if detail["type"] == "string_type"}
            retried = tuple(item.as_text() if item.path in texts else item for item in overrides)
            if retried == overrides:
                raise _option_error(error, overrides) from None
        try:  # --set model.served_name=123 means the text, though YAML reads a number
            return self._overridden(retried)
        except ValidationError as error:
            raise _option_error(error, retried) from None

    def _overridden(self, overrides: Sequence[Override]) -> Playbook:
        data = apply_overrides(
            self.model_dump(exclude_unset=True), [*self._superseded(overrides), *overrides]
        )
        changed = Playbook.model_validate(data)
        changed._options = self._options.union(item.path for item in overrides)
        changed._chosen = self._chosen
        changed._instance = self._instance
        changed._node = self._node
        changed._forms = self._forms
        return changed

    def _superseded(self, overrides: Sequence[Override]) -> list[Override]:
        """An engine of our own that an option asks for counts where the playbook names an interpreter."""
        install, python = ("engine", "install"), ("engine", "python")
        asked = any(item.path == install and item.value is not None for item in overrides)
        return [Override("", python, None, "")] if asked and python not in self._options else []


def _option_error(error: ValidationError, overrides: Sequence[Override]) -> UsageError:
    lines = []
    for detail in error.errors(include_url=False):
        location = tuple(part for part in detail["loc"] if part != "[key]")
        guilty = [item for item in overrides if _touches(item.path, location)] or list(overrides)
        reason = detail["msg"].removeprefix("Value error, ")
        reason = reason.replace("Input should be", "is wrong; allowed:").replace(
            "Field required", "is missing"
        )
        where = ".".join(str(part) for part in location)
        if detail["type"] == "extra_forbidden":
            known = _keys_beside(location)
            near = difflib.get_close_matches(str(location[-1]), known, n=1)
            hint = f", did you mean {near[0]}?" if near else ""
            reason = f"is not a known key{hint}" + (f"; allowed: {', '.join(known)}" if known else "")
        lines.append(f"{', '.join(item.option for item in guilty)}: {where}: {reason}")
    return UsageError("invalid_option", "\n".join(dict.fromkeys(lines)))


def _touches(path: tuple[str, ...], location: tuple[int | str, ...]) -> bool:
    shared = min(len(path), len(location))
    return path[:shared] == location[:shared]


def _keys_beside(location: tuple[int | str, ...]) -> list[str]:
    """The keys of the model in which a location lies; none where names are free, as in `environment`."""
    kind: Any = Shape
    for part in location[:-1]:
        field = getattr(kind, "model_fields", {}).get(part)
        kind = field.annotation if field else None
    return list(getattr(kind, "model_fields", ()))


def load(path: Path) -> Playbook:
    """Read a playbook; its name is the file's name. UsageError("invalid_playbook") says file, line and key."""
    return with_variants(path)[0]


def with_variants(path: Path) -> tuple[Playbook, ...]:
    """Every playbook of a file: its own, and one for each variant. Raises as `load` does."""
    file = load_model(path, PlaybookFile, code="invalid_playbook")
    others = {f"{path.stem}-{name}": file.variant(name) for name in file.variants}
    forms = {path.stem: file, **others}
    weights = {name: size for name, form in forms.items() if (size := form.figures.weights_bytes)}
    playbooks = tuple(_named(path, form, name) for name, form in forms.items())
    for playbook in playbooks:
        playbook._forms = weights
    return playbooks


def _named(path: Path, file: PlaybookFile, name: str) -> Playbook:
    values = {key: getattr(file, key) for key in file.model_fields_set - {"variants"}}
    try:
        return Playbook(name=name, source=path, **values)
    except ValidationError as error:
        reason = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        right = re.sub(r"[^a-z0-9._-]+", "-", path.stem.lower()).strip("-._")[:64] or "playbook"
        raise UsageError(
            "invalid_playbook",
            f"{path}: the file's name is the playbook's name: {reason}",
            next_command=shlex.join(["mv", "--", str(path), str(path.with_name(f"{right}.yaml"))]),
        ) from None


def find(name: str, folders: Sequence[Path]) -> Playbook:
    """The playbook of this name in the first folder that has it, or the file itself if `name` is a path.

    A variant is called by its file's name and its own, with a dash between; a file of that name goes before it.
    Raises UsageError: "unknown_playbook" with the nearest names, or "invalid_playbook".
    """
    if "/" in name or name.endswith((".yaml", ".yml")):
        try:
            return load(Path(name).expanduser())
        except RuntimeError as error:  # ~NAME of nobody here
            reason = f"{name[:60]}: {error}"
            raise UsageError("invalid_playbook", reason) from None
    known = files_in(folders)
    if name in known:
        return load(known[name])
    for stem, path in known.items():
        if name.startswith(f"{stem}-") and name.removeprefix(f"{stem}-") in variants_in(path):
            return next(each for each in with_variants(path) if each.name == name)
    every, lower = called(folders), name.lower()
    near = [lower] if lower in every else difflib.get_close_matches(lower, every, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    searched = ", ".join(str(folder) for folder in folders)
    raise UsageError(
        "unknown_playbook",
        f"there is no playbook {brief(name, 60)!r} in {searched}{hint}",
    )
