"""The rehearsal's SSH server keeps what the driver is promised by a real one."""

from __future__ import annotations

from tests.ssh.conftest import test_programs as test_programs
from tests.ssh.test_contract import *  # noqa: F403
