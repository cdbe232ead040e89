"""Which consents can a person give?"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Literal, get_args

from orchestrator.base.errors import UsageError

Consent = Literal[
    "trust-remote-code",  # run Python that came with the checkpoint
    "install",  # install a package on the host
    "install-engine",  # make an environment with an engine on the host, in a folder of our own
    "listen-openly",  # bind an address that other machines can reach
    "foreign-folder",  # write in a folder that belongs to another user
    "linger",  # ask logind to keep this user's processes after the last logout
    "shared-checkpoint",  # take a patch out of files from which other launches serve
    "differing-files",  # launch hosts as one whose config files are not the same
    "share-cards",  # take less of the cards than was asked for where somebody else holds the rest
    "token-to-endpoint",  # send the Hub token to a mirror, or over plain http
    "remove-used-engine",  # take away an engine that a deployment would need to start again
    "remove-older-shm",  # remove shared memory that was there before our launch
]
CONSENTS: tuple[str, ...] = get_args(Consent)


def known(names: Sequence[str]) -> tuple[str, ...]:
    """These names; UsageError("unknown_consent") with the nearest for one that nobody can give."""
    for name in names:
        if name not in CONSENTS:
            near = difflib.get_close_matches(name.lower().replace("_", "-"), CONSENTS, n=1)
            hint = f", did you mean {near[0]}?" if near else "."
            raise UsageError(
                "unknown_consent",
                f"--consent {name[:60]!r}: there is no such consent{hint} Known: {', '.join(CONSENTS)}",
            )
    return tuple(names)
