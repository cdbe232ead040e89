"""How many requests does a change of a whole fleet lose under load, how many the death of a replica, and how long do both take?

    python tests/bench/fleet.py [--replicas N] [--real PYTHON]

Prints one line a figure: its name, the figure, the bar. Replicas are stand-ins on eight cards, or with --real the vLLM for
CPUs of that interpreter; the router is the real one.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

from ground import Site, line, load, site

from orchestrator.rehearsal.clients import LoadClients
from orchestrator.rehearsal.fleet_boxes import kill_engine
from tests import routers


def spread(here: Site, replicas: int, *, real: bool) -> int:
    """Have room for so many replicas on the host; gives the port of the service."""
    content = json.loads(here.playbook.read_text())
    content["parallel"] = {"tensor": 1 if real else max(1, 8 // replicas)}
    content.pop("needs") if not real else None
    if real:
        content["environment"]["VLLM_CPU_OMP_THREADS_BIND"] = "nobind"
    here.playbook.write_text(json.dumps(content))
    return int(content["port"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--real", metavar="PYTHON")
    options = parser.parse_args()
    with site(options.real) as here:
        routers.put(here.server.home)
        port = spread(here, options.replicas, real=bool(options.real))
        load()
        try:
            up = here.run("fleet", "up", f"--replicas={options.replicas}", "--yes")
            with LoadClients(port, "tiny") as clients:
                clients.until(10)
                changed = here.run("fleet", "restart", "--set=context=192")
                clients.until(10)
                whole = replace(clients.asked, lost=[*clients.asked.lost])
                kill_engine(here.state.with_name(f"{here.state.name}-{options.replicas}"))
                clients.until(10)
                back = here.run("fleet", "remediate")
                clients.until(10)
        finally:
            with here.start("fleet", "stop") as process:
                process.communicate()
        lost = clients.asked.lost[len(whole.lost) :]
        line(f"{options.replicas} replicas up", f"{up:.1f} s", "none")
        line("all of them changed one by one", f"{changed:.1f} s", "none")
        line(f"lost of {whole.whole + len(whole.lost)} requests meanwhile", str(len(whole.lost)), "0")
        line("the killed one back", f"{back:.1f} s", "none")
        asked = clients.asked.whole - whole.whole + len(lost)
        line(f"lost of {asked} requests meanwhile", str(len(lost)), "what was in flight")
        for reason in (*whole.lost[:5], *lost[:5]):
            print(f"  {reason}")
        load()


if __name__ == "__main__":
    main()
