"""Counts, then follows its input line by line, then leaves as it is told."""

import os
import sys

from orchestrator.on_host.refusal import Refusal


def main(request):
    yield from range(request["numbers"])
    for line in sys.stdin.buffer:
        word = line.decode().strip()
        if word == "refuse":
            raise Refusal("told_so", "It was told to refuse.")
        if word == "die":
            os.kill(os.getpid(), 15)
        yield word
