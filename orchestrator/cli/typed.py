"""How is a command line told again: for a next command to type, without the secrets that were in it?"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from orchestrator.cli.options import Options

_VALUED = ("--env", "--set", "--engine-arg")
_KEPT = re.compile(r"(?P<name>[^=]*)=.*", re.DOTALL)


def told(arguments: Sequence[str]) -> str:
    """`deploy ...` as it was typed. Of secrets only the name is left: `--env NAME` takes the value from the
    environment, and so does whoever types this again."""
    return shlex.join(["deploy", *_masked(arguments)])


def _masked(arguments: Sequence[str]) -> Iterator[str]:
    from orchestrator.secret_names import is_secret

    option = ""
    for item in arguments:
        name, glued, value = item.partition("=")
        if name in _VALUED and glued:
            yield f"{name}={_value(name, value, is_secret(_key(value)))}"
        elif option in _VALUED:
            yield _value(option, item, is_secret(_key(item)))
        else:
            yield item
        option = item


def _key(setting: str) -> str:
    return setting.partition("=")[0].rpartition(".")[2].replace("-", "_").upper()


def _value(option: str, setting: str, secret: bool) -> str:
    found = _KEPT.fullmatch(setting)
    if not secret or found is None:
        return setting
    return found["name"] if option == "--env" else f"{found['name']}=***"


def again(options: Options, host: str) -> str:
    """Playbook and host with every option that leads to the same ones, for hints such as `deploy stop ...`."""
    words = [options.playbook, "--host", host]
    for name, values in (
        ("--playbooks", options.playbooks),
        ("--patches", options.patches),
        ("--ssh-config", (options.ssh_config,) if options.ssh_config else ()),
        ("--model-dir", (options.model_dir,) if options.model_dir else ()),
        ("--set", options.settings),
        ("--engine-arg", options.engine_args),
        ("--env", options.env),
    ):
        words += [word for value in values for word in (name, str(value))]
    return shlex.join(_masked(words))
