"""The rehearsal's SSH server keeps what the driver is promised by a real one."""

from __future__ import annotations

from tests.hosts.conftest import test_programs as test_programs
from tests.hosts.test_contract import *  # noqa: F403
