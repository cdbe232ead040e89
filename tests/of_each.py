"""How is the same asked of hundreds of members in one test that names each which fails?

A test of its own costs pytest three milliseconds in its processes together, and what is asked of a patch or a form often takes less
than a tenth of that. What takes longer, or is looked into one by one, stays parametrised.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Iterable
from typing import TypeVar

Member = TypeVar("Member")


def of_each(
    members: Iterable[Member], name: Callable[[Member], str] = str
) -> Callable[[Callable[[Member], None]], Callable[[], None]]:
    """Makes one test of a check of one member: all are asked, whichever fail. No member at all is a failure too."""
    everyone = [*members]

    def of_all(check: Callable[[Member], None]) -> Callable[[], None]:
        @functools.wraps(check)
        def test() -> None:
            failed = []
            for member in everyone:
                try:
                    check(member)
                except Exception:
                    failed.append(f"{name(member)}:\n{traceback.format_exc()}")
            assert everyone, "there is nothing to ask"
            assert not failed, f"{len(failed)} of {len(everyone)} fail\n\n" + "\n".join(failed)

        del test.__wrapped__  # type: ignore[attr-defined]  # pytest would look for the member among its fixtures
        return test

    return of_all
