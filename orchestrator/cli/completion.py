"""`deploy completion bash|zsh|fish`: how does a shell learn to complete what is typed after deploy?"""

from __future__ import annotations

import click

INSTALL = {
    "bash": ('eval "$(deploy completion bash)"', "~/.bashrc (bash 4.4 or newer)"),
    "zsh": ('eval "$(deploy completion zsh)"', "~/.zshrc, after compinit"),
    "fish": ("deploy completion fish | source", "~/.config/fish/config.fish"),
}


@click.command(epilog="Example:  echo 'eval \"$(deploy completion bash)\"' >> ~/.bashrc")
@click.argument("shell", type=click.Choice(list(INSTALL)))
def completion(shell: str) -> None:
    """Print the script with which a shell completes verbs, options, playbooks, patches and hosts.

    \b
    To install, put this line in your shell's own file:
      bash  ~/.bashrc                   eval "$(deploy completion bash)"
      zsh   ~/.zshrc, after compinit    eval "$(deploy completion zsh)"
      fish  ~/.config/fish/config.fish  deploy completion fish | source
    """
    from click.shell_completion import get_completion_class

    from orchestrator.cli.main import cli

    line, file = INSTALL[shell]
    kind = get_completion_class(shell)
    assert kind is not None  # click knows the three
    script = kind(cli, {}, "deploy", "_DEPLOY_COMPLETE").source_vars()
    click.echo(f"# put this line in {file}:  {line}")
    click.echo((kind.source_template % script).strip())
