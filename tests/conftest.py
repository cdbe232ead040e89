"""Registers the fixtures that several rooms use."""

pytest_plugins = ["tests.sshd"]
