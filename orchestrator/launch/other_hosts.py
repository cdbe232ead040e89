"""What does one who follows a launch ask of the other hosts of its group?"""

from __future__ import annotations

from typing import Protocol


class OtherHosts(Protocol):
    """The other hosts of a group, as far as who follows one of them has to know."""

    @property
    def alone(self) -> bool:
        """Whether there are none."""
        ...

    def proceed(self) -> None:
        """Raise Halted where the group does not go on."""
        ...

    def all_still(self, still: bool) -> bool:
        """Whether the launch that is followed stands still (`still`) and those of all others do too: a rank that waits for
        another is as silent as one that hangs."""
        ...


class Alone:
    """Of a host that serves alone."""

    alone = True

    def proceed(self) -> None:
        return

    def all_still(self, still: bool) -> bool:
        return still


ALONE = Alone()
