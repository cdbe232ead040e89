"""Which router stands before the replicas of a rehearsal, and how is it laid where `deploy` installs it?"""

from __future__ import annotations

import sys
from pathlib import Path

from orchestrator.engines.router import Router
from orchestrator.on_host.environments.place import ENGINES, INTERPRETER
from orchestrator.rehearsal.environment import interpreter

PROGRAM = Path(__file__).with_name("stand_in_router.py")


def lay(router: Router, home: Path) -> bool:
    """As if it was installed on the host with this home folder; whether it is the real one, which `deploy` installed on this
    machine once."""
    name = f"{router.package.distributions[0]}-{router.version}"
    here = Path(ENGINES).expanduser() / name / "environment"
    folder = home / ENGINES.removeprefix("~/") / name
    folder.mkdir(parents=True)
    real = (here / INTERPRETER).exists()
    if real:
        (folder / "environment").symlink_to(here)
    else:
        _stand_in(router, folder / "environment")
    return real


def _stand_in(router: Router, folder: Path) -> None:
    module, (distribution, *_) = router.package.module, router.package.distributions
    packages = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    metadata = packages / f"{distribution.replace('-', '_')}-{router.version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {router.version}\n"
    )
    (packages / module).mkdir()
    (packages / module / "__init__.py").write_text("")
    (packages / module / "launch_router.py").write_text(PROGRAM.read_text())
    (folder / "pyvenv.cfg").write_text(
        f"home = {interpreter().parent}\ninclude-system-site-packages = false\n"
    )
    (folder / INTERPRETER).parent.mkdir()
    (folder / "bin" / "python3").symlink_to(interpreter())
    (folder / INTERPRETER).symlink_to("python3")
