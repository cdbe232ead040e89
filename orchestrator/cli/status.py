"""`deploy status PLAYBOOK --host H`: how is the deployment now?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.options import Options, shared_options

if TYPE_CHECKING:
    from orchestrator.deployment import Deployment


@click.command(epilog="Example:  deploy status kimi-k2.5 --host 10.1.230.174")
@shared_options
def status(options: Options) -> int:
    """Show the last launch, its processes and shared memory, its health, and the patches in force."""
    from orchestrator.cli.session import on_each_host

    def work(deployment: Deployment) -> int:
        state = deployment.status()
        click.echo(json.dumps(state) if options.json else "\n".join(_text(state)))
        return 0

    return on_each_host(options, work)


def _text(state: dict[str, Any]) -> list[str]:
    lines = [f"{state['playbook']} on {state['host']}: {state['state']}"]
    if state["launch"] is not None:
        code = "" if state["exit_code"] is None else f", exit status {state['exit_code']}"
        lines.append(f"  launch     {state['launch']}, started {state['started_at']}{code}")
        lines.append(
            f"  health     {state['health'] or 'no answer'}   models {', '.join(state['models']) or '-'}"
        )
    for one in state["members"]:
        lines.append(
            f"  process    {one['pid']:<8} {(one['rss_bytes'] or 0) / 2**20:8.0f} MiB  {one['name'][:40]}"
        )
    if state["shm"]["entries"]:
        lines.append(f"  shm        {state['shm']['entries']} files, {state['shm']['bytes'] / 2**20:.0f} MiB")
    for one in state["patches"]:
        word = "confirmed" if one["confirmed"] else "unconfirmed"
        lines.append(f"  patch      {one['patch']} ({word}): {', '.join(one['files']) or 'options only'}")
    if state["outcome"]:
        lines.append(f"  outcome    {state['outcome']['result']}  {state['outcome']['cause']}"[:400].rstrip())
    if state["log"]:
        lines.append(f"  log        {state['log']['path']}, silent for {state['log']['silent_seconds']:.0f}s")
    return lines
