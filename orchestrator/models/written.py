"""How is the playbook of a model written down, with the reason beside each value that was chosen?"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable
from typing import Any

from pydantic import SecretStr

from orchestrator.models.published import Published
from orchestrator.playbook.choice import Choice
from orchestrator.playbook.playbook import Playbook

_COLUMNS = 100


def as_yaml(playbook: Playbook, choices: Iterable[Choice], published: Published | None, host: str) -> str:
    """The file: planned by its name it comes to the same. Secrets of the command line are left out."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.width = _COLUMNS
    chosen = tuple(choices)
    text = io.StringIO()
    yaml.dump(_with_comments(_data(playbook), chosen), text)
    left_out = [f"{choice.name} is left out: {_words(choice)}" for choice in chosen if choice.value is None]
    model = f"{published.repository} at {published.commit}" if published else f"What is in {playbook.folder}"
    nothing = (
        () if published else ("Its files are there already: no repository is named, and nothing is fetched.",)
    )
    head = "\n".join((f"{model}, as it was chosen for {host}.", *nothing, *left_out))
    return f"{textwrap.indent(_folded(head), '# ')}\n\n{text.getvalue()}"


def _data(playbook: Playbook) -> dict[str, Any]:
    """What is stated, as a file states it."""
    secrets = [name for name, item in playbook.environment.items() if isinstance(item.value, SecretStr)]
    data = playbook.model_dump(
        mode="json", exclude_unset=True, exclude={"name": True, "source": True, "choose": True}
    )
    for name in secrets:
        del data["environment"][name]
    return {key: value for key, value in data.items() if value not in ({}, [])}


def _with_comments(data: dict[str, Any], choices: tuple[Choice, ...], *above: str) -> Any:
    from ruamel.yaml.comments import CommentedMap

    commented = CommentedMap()
    for key, value in data.items():
        inner = isinstance(value, dict) and not any(choice.key == (*above, key) for choice in choices)
        commented[key] = _with_comments(value, choices, *above, key) if inner else _flowing(value)
    for key in data:
        if comment := "\n".join(_words(choice) for choice in choices if choice.key == (*above, key)):
            commented.yaml_set_comment_before_after_key(key, before=_folded(comment), indent=2 * len(above))
    return commented


def _flowing(value: Any) -> Any:
    """A list in few lines: that of a model's layers has one item a layer."""
    from ruamel.yaml.comments import CommentedSeq

    if not isinstance(value, list):
        return value
    items = CommentedSeq(value)
    items.fa.set_flow_style()
    return items


def _words(choice: Choice) -> str:
    return f"a gamble: {choice.reason}" if choice.gamble else choice.reason


def _folded(text: str) -> str:
    """In lines of a comment; a sign that is none of text, as a repository may have put there, has no place in the file."""
    text = "".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in text)
    return "\n".join(line for part in text.splitlines() for line in textwrap.wrap(part, _COLUMNS))
