"""How long does a second run take on a healthy deployment, and how often does it wait for the host?

    python tests/bench/second_run.py [--rounds N]

Prints one line a figure: its name, the figure, the bar. Round trips are counted at a relay on loopback, from the
moment when the server accepted the key; the second relay holds every chunk back for 50 ms each way.
"""

from __future__ import annotations

import argparse
import resource
from pathlib import Path

from ground import Site, line, load, shown, site
from relay import Relay

BAR, TRIPS_BAR, SLOW_BAR = 2.0, 12, 5.0
SLOW_LINE_SECONDS = 0.050


def through(here: Site, delay: float) -> tuple[float, int]:
    """Seconds and round trips of one run through a relay."""
    accepted = here.server.log.count("Accepted publickey")
    relay = Relay(
        here.server.port, delay=delay, counts=lambda: here.server.log.count("Accepted publickey") > accepted
    )
    with relay:
        config = Path(here.folder / "relayed_config")
        config.write_text(here.server.host_stanza(Port=str(relay.port)))
        known = here.server.known_hosts_line().replace(f":{here.server.port} ", f":{relay.port} ")
        here.server.known_hosts.write_text(here.server.known_hosts_line() + known)
        here.ssh_config = str(config)
        try:
            return here.run(), relay.turns
        finally:
            here.ssh_config = here.server.ssh_config


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with site() as here:
        here.run()
        load()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        line("second run, whole process", shown([here.run() for _ in range(rounds)]), f"{BAR:g} s")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        line("of it processor time of the controller, mean", f"{processor / rounds:.2f} s", "none")
        _, near = through(here, 0.0)
        slow = [through(here, SLOW_LINE_SECONDS) for _ in range(rounds)]
        trips = sorted(turns for _, turns in slow)[rounds // 2]
        line("round trips after authentication, over the slow line", str(trips), str(TRIPS_BAR))
        line("turns on loopback, where nothing waits for company", str(near), "none")
        line(
            f"second run with {2000 * SLOW_LINE_SECONDS:.0f} ms more round-trip time",
            shown([seconds for seconds, _ in slow]),
            f"{SLOW_BAR:g} s",
        )


if __name__ == "__main__":
    main()
