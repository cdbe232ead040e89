"""Which versions of which engine does a patch ask for? There is a key for each kind of engine, by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import create_model

from orchestrator.base.frozen import Frozen
from orchestrator.engines import registry
from orchestrator.patches.wanted import Specifier

if TYPE_CHECKING:

    class OfEngines(Frozen):
        """What asks for versions; two kinds at once are never one launch's."""

else:
    _keys: dict[str, Any] = dict.fromkeys(registry.kinds(), (Specifier | None, None))
    OfEngines = create_model("OfEngines", __base__=Frozen, **_keys)


def versions(wanted: object) -> Mapping[str, str]:
    """The version specifiers that were given, by the kind of engine."""
    specifiers = {kind: getattr(wanted, kind, None) for kind in registry.kinds()}
    return {kind: specifier for kind, specifier in specifiers.items() if specifier is not None}
