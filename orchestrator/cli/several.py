"""How is one thing done on several hosts side by side, each with its own end?"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from orchestrator.base.errors import DeployError, mistake

if TYPE_CHECKING:
    from orchestrator.base.events import Display


def side_by_side(names: Sequence[str], work: Callable[[str], int], shown: Display, *, as_json: bool) -> int:
    """One thread a host; each failure is told as it happens, and the highest code wins."""
    from orchestrator.cli.main import tell, trace

    codes: list[int] = []

    def run(name: str) -> None:
        try:
            codes.append(work(name))
        except DeployError as error:
            with shown.aside():
                tell(error, as_json=as_json, host=name)
            codes.append(error.exit_code)
        except Exception as error:
            with shown.aside():
                trace(error)
                tell(mistake(error), as_json=as_json, host=name)
            codes.append(DeployError.exit_code)
        except BaseException:
            codes.append(1)
            raise

    threads = [threading.Thread(target=run, args=(name,), daemon=True) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(codes)
