"""How long does it take to read every fact of a host over SSH, and in how many round trips?

    python tests/bench/facts.py [--rounds N]

Prints one line a figure: its name, the figure, the bar. The host is a real sshd on loopback with a stand-in for the cards;
a relay counts, from the moment when the connection stands, how often we waited for an answer. Over the slow line it holds
every chunk back for 50 ms each way.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from ground import Site, line, load, shown, site
from relay import Relay

from orchestrator.facts.gather import every
from orchestrator.facts.source import Unknown
from orchestrator.hosts.connect import open_host
from orchestrator.playbook import playbook as playbooks
from orchestrator.survey.examination import examine
from orchestrator.survey.survey import query_of, survey

BAR, TRIPS_BAR = 1.5, 2
SLOW_LINE_SECONDS = 0.050


def through(here: Site, delay: float, *, whole: bool) -> tuple[float, int, int]:
    """Seconds of a whole examination or of the look before a launch, round trips, and facts that are known."""
    with Relay(here.server.port, delay=delay) as relay:
        config = Path(here.folder / "relayed_config")
        config.write_text(here.server.host_stanza(Port=str(relay.port)))
        known = here.server.known_hosts_line().replace(f":{here.server.port} ", f":{relay.port} ")
        here.server.known_hosts.write_text(here.server.known_hosts_line() + known)
        playbook = playbooks.find(str(here.playbook), [])
        with open_host(here.server.alias, ssh_config=str(config), accept_host_keys=()) as host:
            host.script("read_facts", {"commands": {}})  # the host's Python runs
            before, began = relay.turns, time.monotonic()
            facts = examine(host, query_of(playbook)) if whole else survey(host, playbook).facts
            seconds = time.monotonic() - began
            known = sum(not isinstance(facts.of(fact), Unknown) for fact in every())
            return seconds, relay.turns - before, known


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with site() as here:
        load()
        for name, whole in (("every fact of a host", True), ("the look before a launch", False)):
            near = [through(here, 0.0, whole=whole) for _ in range(rounds)]
            slow = [through(here, SLOW_LINE_SECONDS, whole=whole) for _ in range(rounds)]
            bar = f"{BAR:g} s" if whole else "none"
            line(f"{name}, on loopback", shown([seconds for seconds, *_ in near]), bar)
            trips = sorted(turns for _, turns, _ in slow)[rounds // 2]
            line(f"{name}, round trips over the slow line", str(trips), str(TRIPS_BAR))
            line(
                f"{name}, with 100 ms more round-trip time", shown([seconds for seconds, *_ in slow]), "none"
            )
            line(f"{name}, facts that are known", str(near[0][2]), "none")


if __name__ == "__main__":
    main()
