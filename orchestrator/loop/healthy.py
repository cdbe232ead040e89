"""What is told of a deployment from which completions come out?"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

from orchestrator.base.amounts import beside, bracketed, duration
from orchestrator.base.events import Report
from orchestrator.engines.options import Context
from orchestrator.job import Job
from orchestrator.playbook.endpoint import place_of
from orchestrator.programs.place import Endpoint


def tell_healthy(
    job: Job, report: Report, *, served: int | None, asked: Context, running: Endpoint | None = None
) -> None:
    """The closing lines; `running` is where a launch that was found in place answers. One request may have as many tokens as
    were `served`, by the server itself (None: it does not say), and `asked` for: a remedy may have taken some."""
    place = running or place_of(job.playbook)
    open_to_all = not ip_address(place.host.replace("localhost", "127.0.0.1")).is_loopback
    url = f"http://{bracketed(job.host.address if open_to_all else '127.0.0.1')}:{place.port}/v1"
    done = "nothing to do" if running else f"{duration(job.report.seconds)} in all"
    node = job.playbook.node
    several = node is not None and node.balance != "internal"  # of which each answers for itself
    lines = [f"healthy  {url}{f' on {job.host.name}' if several else ''}   model {place.model}   {done}"]
    if served is not None:
        lines.append(f"  context {beside(served, asked)}")
    if job.lasting and not (node and node.rank):  # the head's are those of all
        lines += [
            f"  follow  {job.command('logs')} -f",
            f"  undo    {job.command('revert')}",
            f"  stop    {job.command('stop')}",
        ]
    data: dict[str, Any] = {"healthy": True, "changed": running is None, "url": url, "model": place.model}
    data |= {"context": served, "asked_context": asked}
    if job.group:
        data["hosts"] = list(job.group)
    report.emit("result", "\n".join(lines), **data)
