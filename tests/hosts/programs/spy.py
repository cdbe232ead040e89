"""Looks for a text in every argument list and environment of this machine, as another user could."""

from pathlib import Path


def main(request):
    found = []
    seen = 0
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            for name in ("cmdline", "environ"):
                try:
                    raw = (process / name).read_bytes()
                except OSError:
                    continue
                seen += 1
                if request["secret"].encode() in raw:
                    found.append(str(process / name))
    return {"found": found, "seen": seen, "own": Path("/proc/self/cmdline").read_bytes().decode()[:200]}
