"""What is the same for every test: fixtures that several rooms use, and what must not depend on who runs the tests and where."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.sshd", "tests.deployments"]

# The same examples in every run, however slow the machine is; `--hypothesis-profile default` looks for new ones.
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")

# A shell starts what it puts in the background with Ctrl-C ignored, and so would every command be that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
