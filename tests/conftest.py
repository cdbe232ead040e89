"""What is the same for every test: fixtures that several rooms use, and what must not depend on who runs the tests and where."""

from __future__ import annotations

import gc
import signal
from collections.abc import Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings

from orchestrator.on_host.secrets import secrets

pytest_plugins = ["tests.sshd", "tests.deployments"]

# The same examples in every run, however slow the machine is; `--hypothesis-profile default` looks for new ones.
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")


@pytest.fixture(scope="module", autouse=True)
def _no_secrets_of_others() -> Iterator[None]:
    """What tests of one file gave as a password is an everyday word in another's."""
    yield
    secrets.forget()


# A shell starts what it puts in the background with Ctrl-C ignored, and so would every command be that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays until the end: while it grows, and in every later round, the garbage collector would go through
    it for nothing, a fifth of a worker's time before its first test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
