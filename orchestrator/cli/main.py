"""Where does a command line start, and with which exit code does it end?"""

from __future__ import annotations

import importlib
import io
import os
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from orchestrator import __version__
from orchestrator.base.errors import DeployError, UsageError, mistake
from orchestrator.cli import process
from orchestrator.on_host.secrets import secrets

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "up": "do the whole job: download, verify, launch, repair, prove (the default)",
    "plan": "show what `up` would do and why",
    "init": "write the playbook of a model that has none",
    "diff": "show the config patches that apply, as a unified diff",
    "remediate": "diagnose the last launch, patch, clean, relaunch",
    "revert": "put the original bytes back",
    "status": "show the launch, its processes, its health",
    "history": "show what was done on a host",
    "logs": "show the log of the last launch",
    "stop": "stop the launch and clean what it left",
    "restart": "stop, then launch again",
    "verify": "check every shard of the checkpoint, without network",
    "doctor": "check a host: GPUs, engine, disk, memory, links",
    "fleet": "many replicas of a playbook over hosts and their GPUs",
    "engine": "install, list or remove engines on a host",
    "diagnose": "find the root cause in a log file",
    "list": "list playbooks or patches",
    "show": "show a playbook or a patch",
    "rehearse": "try it all on a host in a box on this machine",
    "completion": "complete words in bash, zsh or fish",
}
OBJECTS = {"list": "list_"}

EPILOG = """\b
Examples:
  deploy kimi-k2.5 --host 10.1.230.174
  deploy Qwen/Qwen3-8B --host 10.1.230.174
  deploy plan kimi-k2.5 --host 10.1.230.174
  deploy remediate kimi-k2.5 --host 10.1.230.174
  deploy diff kimi-k2.5 --host 10.1.230.174
  deploy diagnose vllm.log
"""


class Verbs(click.Group):
    """The verbs, each imported when it is used; a first word that is no verb is a playbook or a model to bring up."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"orchestrator.cli.{cmd_name}")
        command: click.Command = getattr(module, OBJECTS.get(cmd_name, cmd_name))
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args[:1] == ["help"]:
            args = [*args[1:2], "--help"]
        elif args == ["version"]:
            args = ["--version"]
        if args and args[0] not in COMMANDS and args[0] not in ("--help", "-h", "--version"):
            args = ["up", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The first word: a verb, or a playbook to bring up."""
        from click.shell_completion import CompletionItem

        from orchestrator.cli import complete

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        verbs = [
            CompletionItem(verb, help=text) for verb, text in COMMANDS.items() if verb.startswith(incomplete)
        ]
        return [*verbs, *complete.playbooks(ctx, None, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):  # from the table above: importing every verb would be slow
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Verbs,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    options_metavar="",
    subcommand_metavar="[COMMAND] PLAYBOOK --host HOST [OPTIONS]",
)
@click.version_option(__version__, prog_name="deploy")
def cli() -> None:
    """Take a GPU host to a proven-healthy vLLM server.

    `deploy PLAYBOOK --host HOST` does the whole job: download, verify, launch, watch; when the launch
    fails it finds the root cause, repairs it, and relaunches until a completion comes out. PLAYBOOK is
    a playbook's name or file, or a model of the Hub (ORG/NAME): how that is launched is chosen for the host.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """The `deploy` command."""
    if argv is not None:
        sys.exit(run(list(argv)))
    process.begin()
    process.leave(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Carry a command line out; gives the exit code."""
    as_json = "--json" in arguments
    secrets.forget()
    for name, value in os.environ.items():
        if secrets.is_secret(name):
            secrets.remember(value)
    try:
        result = cli.main(arguments, prog_name="deploy", standalone_mode=False)
    except DeployError as error:
        tell(error, as_json=as_json)
        if "-v" in arguments or "--verbose" in arguments:
            trace(error)
        return error.exit_code
    except click.exceptions.Exit as left:
        return left.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("deploy: interrupted; what was launched goes on, and the same command resumes", err=True)
        return 130
    except click.ClickException as error:
        meant = _meant(arguments)
        if as_json:
            tell(_misused(error, meant), as_json=True)
        usage = io.StringIO()
        error.show(usage)
        near = f"There is no command {arguments[0]}. Did you mean: {meant}\n" if meant else ""
        _say(f"{usage.getvalue()}{near}")
        return 2
    except BrokenPipeError:  # `deploy logs ... | head`
        sys.stderr.close()
        return 0
    except Exception as error:
        trace(error)
        tell(mistake(error), as_json=as_json)
        return DeployError.exit_code
    return result if isinstance(result, int) else 0


def _meant(arguments: Sequence[str]) -> str:
    """The command line with the verb that its first word is nearly; "" where that is one, or near none."""
    from difflib import get_close_matches

    from orchestrator.cli.typed import as_typed

    near = [] if not arguments or arguments[0] in COMMANDS else get_close_matches(arguments[0], COMMANDS, n=1)
    return as_typed([*near, *arguments[1:]]) if near else ""


def _misused(error: click.ClickException, meant: str) -> DeployError:
    context = error.ctx if isinstance(error, click.UsageError) else None
    onward = meant or (f"{context.command_path} --help" if context else "deploy --help")
    return UsageError("usage", error.format_message(), next_command=onward)


def tell(error: DeployError, *, as_json: bool, host: str = "", instance: str = "") -> None:
    """Show an error: a sentence and the next command for people, an object for programs."""
    from orchestrator.cli.hints import command_for, following

    onward = following(error)
    stop = command_for(error.asked)("stop") if error.left and error.asked else ""
    if as_json:
        from orchestrator.report.json_lines import json_line

        value = {"code": error.code, "message": error.message, "next": onward}
        left = {"left": {**error.left, "stop": stop}} if error.left else {}
        of = {"instance": instance} if instance else {}
        record = {"event": "error", "host": host, **of, "error": value, "exit_code": error.exit_code, **left}
        click.echo(json_line(record))
        return
    from orchestrator.report.choose import write
    from orchestrator.report.error import error_lines

    write(error_lines(error, onward or "", host, stop=stop), sys.stderr)


def trace(error: BaseException) -> None:
    _say("".join(traceback.format_exception(error)))


def _say(text: str) -> None:
    """On standard error, what others wrote and typed made harmless."""
    from orchestrator.report.layout import passage

    click.echo(passage(text), err=True, nl=False)


if __name__ == "__main__":
    main()
