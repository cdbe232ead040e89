"""How do the oracle's answers read as one table?

    python tests/engines/sizing/table.py SOURCES.json answers-0.32.0.jsonl [answers-OLDER.jsonl ...] > expected.yaml

The first file's release is the table's; of the others only what they answer differently is kept. Standard library only.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from pathlib import Path

TENSOR = (1, 2, 4, 8)
OWN = re.compile(
    "not supported for now|was supported in vLLM until|must be divisible|does not support tensor parallel"
)
WHOLE = ("full", "mla", "indexer")
"""The kinds of layers that keep every token of a request."""
NOTE = """\
# Bytes of KV cache as vLLM {release} itself reckons them. Made by oracle.py and table.py beside this file; edit neither
# the numbers nor the configs by hand. Lists are for tensor parallel size 1, 2, 4, 8, always of the first rank; null: refused.
#
#   class    the model class that vLLM chose; mla: what ModelConfig.use_mla says; context: its max_model_len for this file
#   by       specs: every layer was built (no weights) and asked for its KV cache spec: the engine's own path, right to the byte
#            functions: the class could not be built here, ModelConfig's own counts stand instead: weaker
#            refused: this release does not take the model
#            not built: a stand-in was not good enough; nothing is known
#   stand_in model types whose config class is remote code, read into a plain one: weaker where a default is missing
#   whole    bytes a token, all layers that keep every token together (full, mla, indexer): what a context costs
#   kinds    each kind of layer. layers: how many. heads, size, value: KV heads on the rank, head size, that of V where it
#            differs. bf16, fp8: bytes a token and layer, for `state` bytes a sequence and layer.
#            full, mla, indexer   keep every token
#            window, chunk        keep about `tokens` of a request at most (plus what is scheduled at once, and one block)
#            state                Mamba or linear attention: fixed for each running sequence, whatever its length
#            cross                one entry a token of the encoder's input
#   request  bytes that vLLM's start-up check wants for one request of that many tokens, with the layers of different kinds
#            grouped and padded as it groups them, and {in_flight} tokens scheduled at once (an API server's default here):
#            the "... GiB KV cache is needed" of its refusal
#   shared   layers that use another layer's cache and keep none (counted in no kind)
#   pages    where there is a state: tokens in a block and bytes of a page after vLLM's alignment. Each layer of whatever
#            kind takes whole pages, so that a sequence costs at least one page a layer of every kind
#   auto     bf16 was asked as --kv-cache-dtype auto on a config without quantization_config; auto_is says where the
#            release still turned it into something else on this card
#   cards    compute capabilities that answer differently (asked at tensor parallel 1, for MLA and a few others)
#   releases older releases that answer differently ({older}), and what they say instead; lists are then
#            for those sizes. stand_in: there the config class is remote code. not_built: the release's code does not
#            run in this environment for that model; nothing is known
#
# Checked by hand (tensor parallel 1 and bf16 unless said):
#   Qwen3-8B                 36 layers x 2 x 8 heads x 128 x 2 bytes = 147,456
#   Kimi-K2.5-NVFP4          61 x (512 + 64) x 2 = 70,272
#   GLM-5.2                  78 x 576 x 2 + 21 indexers x (128 + 4) = 92,628; fp8 78 x 656 + 21 x 132 = 53,940
#   MiniMax-M3-NVFP4, 4      60 x 2 x 1 x 128 x 2 + 57 index keys x 128 x 2 = 45,312
#   Nemotron-Super-49B-v1    49 of 80 blocks have attention: 49 x 2 x 8 x 128 x 2 = 200,704
#   MiniCPM3-4B              no MLA in vLLM: 62 x 2 x 40 x (64 + 32) x 2 = 952,320
#   MiMo-V2-Flash            9 full layers x 4 x (192 + 128) x 2 = 23,040
#   DeepSeek-V4-Flash        21 x 584 / 4 + 20 x 584 / 128 + 21 x 132 / 4 = 3,850.25
#   Qwen3.5-27B, state       3 x (2 x 16 x 128 + 48 x 128) x 2 + 48 x 128 x 128 x 4 = 3,207,168
#   Nemotron-H-56B, state    3 x (256 x 64 + 2 x 8 x 256) x 2 + 256 x 64 x 256 x 4 = 16,900,096
#   gpt-oss-20b, 2, request  131,072 x 12 x 1,024 + (ceil((127 + 16,384) / 16) + 1) x 16 x 12 x 1,024 = 1,813,708,800
#   gemma-3-27b-it, 2, req.  10 full and 52 window layers go in groups of 10: (8,192 + 6 x 1,089) blocks x 655,360 = 9,650,831,360
#
# configs/ holds config.json files as their authors published them, cut of long lists of modules and labels; `source` says
# where a copy was read. Under `elsewhere` stand configs that are not kept in this repository.
#
# Weights are left out (quantization_config is cut before the question), so `auto` is never turned into FP8 by a checkpoint.
# The card is a faked H200 (compute capability 9.0): the platform, process groups and compiled kernels are stand-ins, the
# selection of backends and every number is vLLM's. FlashInfer counts as installed. What a token costs hangs on the card
# for sparse MLA alone: there FP8 is the fp8_ds_mla layout on 9.0 (656 bytes a token and layer), plain FP8 on 10.0 (576), and
# 12.0 knows nothing but fp8_ds_mla, whatever is asked for.
"""


def read(path):
    rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
    found = defaultdict(dict)
    for row in rows:
        found[row["config"]][row["tensor"], row["kv"]] = row
    return rows[0]["vllm"], rows[0]["capability"], found


def order(kind):
    layers, name, window, _, size, value, _ = kind
    return (name, window or 0, size or 0, value or 0, layers)


def kinds(rows, tensors=TENSOR):
    """One entry a kind, with lists over the tensor parallel sizes; the kinds are the same at each."""
    answered = [row for row in rows.values() if "kinds" in row]
    if not answered:
        return []
    entries = []
    for place, (layers, name, window, _, size, value, _) in enumerate(
        sorted(answered[0]["kinds"], key=order)
    ):
        entry = {"kind": name, "layers": layers}
        if window:
            entry["tokens"] = window
        if size is not None:
            entry |= {"heads": [at(rows, tensor, "bf16", place, 3) for tensor in tensors], "size": size}
            if value and value != size:
                entry["value"] = value
        for kv in ("bf16", "fp8"):
            entry[kv] = [at(rows, tensor, kv, place, 6) for tensor in tensors]
        entries.append(entry)
    return entries


def at(rows, tensor, kv, place, column):
    found = sorted(rows.get((tensor, kv), {}).get("kinds", []), key=order)
    return found[place][column] if place < len(found) else None


def whole(entries, kv, tensors=TENSOR):
    totals = []
    for place in range(len(tensors)):
        each = [(entry["layers"], entry[kv][place]) for entry in entries if entry["kind"] in WHOLE]
        total = None if any(size is None for _, size in each) else sum(layers * size for layers, size in each)
        totals.append(int(total) if total is not None and total == int(total) else total)
    return totals


def reason(row):
    text = re.sub(r"^\w+: (1 validation error for \w+ Value error, )?", "", row["problem"])
    text = re.sub(
        r" ?\[type=.*| ?\(_?\w+\.py:\d+\)$| Supported architectures:.*| Please use an older.*| with AttentionSelectorConfig.*",
        "",
        text,
    )
    return (
        text.strip()
        or "the model class asserts that the tensor parallel size divides or is divided by the KV heads"
    )


def config(rows, tensors=TENSOR):
    refused = {tensor: reason(row) for (tensor, kv), row in rows.items() if kv == "bf16" and own_refusal(row)}
    rows = {key: row for key, row in rows.items() if not own_refusal(row)}
    if not rows:
        return {"by": "refused", "refused": sorted(set(refused.values()))[0]}
    if all(row["by"] == "refused" for row in rows.values()):
        return {"by": "not built", "problem": reason(next(iter(rows.values())))}
    first = next((row for row in rows.values() if row["by"] == "specs"), next(iter(rows.values())))
    weaker = {key: row for key, row in rows.items() if row["by"] != first["by"]}
    rows = {key: row for key, row in rows.items() if key not in weaker}
    entries = kinds(rows, tensors)
    made = {"class": first.get("class", first["architecture"]), "by": first["by"]}
    if stand_in := sorted({name for row in rows.values() for name in row.get("stand_in", [])}):
        made["stand_in"] = stand_in
    made |= {"mla": first["mla"], "context": first["max_model_len"]}
    if entries:
        made["whole"] = {kv: whole(entries, kv, tensors) for kv in ("bf16", "fp8")}
    made["kinds"] = entries
    if first.get("shared"):
        made["shared"] = first["shared"]
    if any(entry["kind"] == "state" for entry in entries):
        made["pages"] = {kv: pages(rows, kv, tensors) for kv in ("bf16", "fp8")}
    made |= requests(rows, tensors)
    cast = {row["cache_dtype"] for (_, kv), row in rows.items() if kv == "bf16" and "cache_dtype" in row} - {
        "auto"
    }
    if cast:
        made["auto_is"] = cast.pop()
    if any(kv == "fp8" for _, kv in weaker):
        made["fp8_refused"] = reason(next(row for (_, kv), row in weaker.items() if kv == "fp8"))
    if set(refused) == set(tensors):
        made["bf16_refused"] = sorted(set(refused.values()))[0]
    elif refused:
        made["refused"] = refused
    return made


def own_refusal(row):
    """vLLM's own no, by its config or by an assertion of the model class; not a failure of the stand-ins."""
    problem = row.get("problem", "")
    return problem.startswith("AssertionError") or (row["by"] == "refused" and bool(OWN.search(problem)))


def requests(rows, tensors):
    """{"request": {"bf16": {tokens: [bytes, ...]}, "fp8": ...}}; nothing where no cache is kept."""
    made = {}
    for kv in ("bf16", "fp8"):
        each = [dict(map(tuple, rows.get((tensor, kv), {}).get("request") or [])) for tensor in tensors]
        if lengths := sorted(set().union(*each)):
            made[kv] = {length: [found.get(length) for found in each] for length in lengths}
    return {"request": made} if made else {}


def pages(rows, kv, tensors):
    found = [rows.get((tensor, kv), {}).get("pages", {}).get("MambaSpec", [None, None]) for tensor in tensors]
    return {"tokens": [each[0] for each in found], "bytes": [each[1] for each in found]}


def difference(ours, theirs):
    """What an older release says otherwise, over the sizes that it was asked for."""
    tensors = sorted({tensor for tensor, _ in theirs})
    now = config({key: row for key, row in ours.items() if key[0] in tensors}, tensors)
    then = config(theirs, tensors)
    if then["by"] == "refused":
        return {} if now["by"] == "refused" else {"refused": then["refused"]}
    if then["by"] != "specs":
        return (
            {"not_built": next(filter(None, map(unbuilt, theirs.values())))} if now["by"] == "specs" else {}
        )
    if now["by"] not in ("specs", "refused"):
        return {}
    if "bf16_refused" in then and then["whole"]["fp8"] == now.get("whole", {}).get("fp8"):
        return {"bf16_refused": then["bf16_refused"]}
    keys = ("mla", "context", "whole", "kinds", "shared", "auto_is", "bf16_refused", "fp8_refused")
    changed = {key: then.get(key) for key in keys if then.get(key) != now.get(key)}
    return then_with(changed, then)


def then_with(changed, then):
    """The class tells why, and a stand-in that the difference may be its own."""
    told = {key: then[key] for key in ("class", "stand_in") if key in then}
    return told | changed if changed else {}


def unbuilt(row):
    return row["by"] != "specs" and reason(row)


def flow(value):
    """YAML on one line; JSON is YAML, and null and lists read the same."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(each) for each in value) + "]"
    return value if isinstance(value, str) and re.fullmatch(r"[A-Za-z][\w./-]*", value) else json.dumps(value)


def main():
    sources = json.loads(Path(sys.argv[1]).read_text())
    release, card, answers = read(sys.argv[2])
    others = [read(path) for path in sys.argv[3:]]
    older = [(then, found) for then, other, found in others if other == card]
    cards = [(other, found) for then, other, found in others if then == release and other != card]
    elsewhere = True
    flights = {row.get("in_flight") for rows in answers.values() for row in rows.values()} - {None}
    print(NOTE.format(release=release, older=asked(older), in_flight=" or ".join(map(str, sorted(flights)))))
    here = {path.stem for path in (Path(__file__).parent / "configs").glob("*.json")}
    print(f"release: {release}\nolder: {json.dumps([name for name, _ in older])}\nconfigs:")
    for name in sorted(answers, key=lambda each: (each not in here, each.lower())):
        if name not in here and elsewhere:
            print("elsewhere:")
            elsewhere = False
        print(f"  {name}:", *entry(name, sources[name], answers, cards, older), sep="\n    ")


def asked(older):
    """Which older releases were asked at which tensor parallel sizes, as a sentence."""
    sizes = {then: sorted({tensor for rows in found.values() for tensor, _ in rows}) for then, found in older}
    return (
        "; ".join(
            f"{then} asked at tensor parallel {', '.join(map(str, each))}" for then, each in sizes.items()
        )
        or "none"
    )


def entry(name, source, answers, cards, older):
    """The lines of one config."""
    yield f"source: {flow(source)}"
    for key, value in config(answers[name]).items():
        if key == "kinds" and value:
            yield "kinds:"
            yield from (f"  - {flow(kind)}" for kind in value)
        else:
            yield f"{key}: {flow(value)}"
    for title, others in (("cards", cards), ("releases", older)):
        asked = ((other, difference(answers[name], found[name])) for other, found in others if name in found)
        if changed := {other: what for other, what in asked if what}:
            yield f"{title}:"
            yield from (f'  "{other}": {flow(what)}' for other, what in changed.items())


if __name__ == "__main__":
    main()
