"""Environments with an engine that were made by us, on the host."""
