"""Where on a host are the engines that were installed by us, and by which Python is one used?"""

from __future__ import annotations

ENGINES = "~/.local/share/deploy/engines"
"""A folder for each, ENGINE-VERSION, beside uv, its cache and the Pythons that it fetched."""
INTERPRETER = "bin/engine-python"
"""The link in an environment by which it is used."""
