"""How do the oracle's answers read as one table?

    python tests/engines/kv_cache/table.py answers-0.32.0.jsonl [answers-OLDER.jsonl ...] > expected.yaml

The first file's release is the table's; of the others only what they answer differently is kept. Standard library only.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

NOTE = """\
# What vLLM {release} itself stores its KV cache as by a checkpoint's config files alone. Made by oracle.py and table.py beside
# this file, of the folders of folders.py; edit no answer by hand.
#
#   dtype     what `--kv-cache-dtype auto` comes to: auto is the model's own dtype, fp8 what a layer makes of compressed-tensors
#   method    the method of its weights, none where that is not written
#   mla       whether its attention is MLA's
#   refused   vLLM takes the folder no further, for this reason; where a dtype stands beside it, that was settled before
#   releases  older releases that answer differently ({older}), and what they say instead; one that has no class of its
#             own for the model is not asked
folders:
"""


def read(path):
    rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
    return rows[0]["release"], {row["folder"]: row for row in rows}


def main():
    (release, newest), *others = [read(path) for path in sys.argv[1:]]
    print(NOTE.format(release=release, older=", ".join(older for older, _ in others)), end="")
    for folder, row in newest.items():
        kept = {key: row[key] for key in ("dtype", "method", "refused") if row.get(key)}
        if row.get("mla"):
            kept["mla"] = True
        releases = {
            older: rows[folder]["dtype"]
            for older, rows in others
            if "dtype" in rows[folder]
            and rows[folder].get("stand_in") == row.get("stand_in")
            and rows[folder]["dtype"] != row.get("dtype")
        }
        if releases:
            kept["releases"] = releases
        print(f"  {folder}: {json.dumps(kept)}")


if __name__ == "__main__":
    main()
