"""Is one file of a checkpoint what it should be, as far as its structure tells?"""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import Any, BinaryIO

from orchestrator.on_host.files import regular_file

_HEADER_LIMIT = 100_000_000  # bytes; the safetensors library refuses more
TEXT_LIMIT = 64 << 20
"""Bytes of a file that is read whole: a tokenizer takes 30 MB, and the Hub keeps what is above 10 MB in LFS."""
_LARGEST = 1 << 62
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BITS = {
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 16),
    **dict.fromkeys(("U32", "I32", "F32"), 32),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 64),
}


class Broken(Exception):
    """Why a file is not what it should be, as one clause."""


def shard_tensors(folder: str, name: str) -> set[str]:
    """The names of the tensors in a shard whose structure is sound; raises Broken."""
    with opened(folder, name) as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > _HEADER_LIMIT or length < 2:
            raise Broken(_instead(file, size) or f"no safetensors file: its header would take {length} bytes")
        if 8 + length > size:
            raise Broken(
                _instead(file, size) or f"cut off: {size} bytes, the header alone takes {8 + length}"
            )
        raw = file.read(length)
    try:
        header = json.loads(raw)
        if not isinstance(header, dict):
            raise ValueError("not an object")
    except (ValueError, RecursionError) as error:
        raise Broken(f"its header is not JSON ({error})") from error
    header.pop("__metadata__", None)
    data = _span(header)
    if 8 + length + data != size:
        word = "cut off" if size < 8 + length + data else "too long"
        raise Broken(f"{word}: {size} bytes where its header promises {8 + length + data}")
    return set(header)


def git_blob(path: str) -> str | None:
    """The id that git, and the Hub for files outside LFS, gives to the file's bytes; None for what has no such id."""
    try:
        data = regular_file.read(path, TEXT_LIMIT)
    except regular_file.Unfit:
        return None
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _span(header: dict[str, Any]) -> int:
    """Bytes of data that the tensors cover, contiguous from 0; raises Broken."""
    pieces = []
    for name, tensor in header.items():
        try:
            begin, end = tensor["data_offsets"]
            dtype, count = tensor["dtype"], 1
            for extent in tensor["shape"]:
                if type(extent) is not int or extent < 0:
                    raise ValueError
                count = min(count * extent, _LARGEST)  # else a million huge extents are multiplied for hours
            if type(begin) is not int or type(end) is not int or not 0 <= begin <= end <= _LARGEST:
                raise ValueError
            bits = _BITS.get(dtype)  # a dtype newer than this table is taken at its word
        except (KeyError, TypeError, ValueError) as error:
            raise Broken(f"tensor {name[:80]} has no sound dtype, shape and data_offsets") from error
        if bits is not None and (count * bits + 7) // 8 != end - begin:
            shape = str(tensor["shape"])[:80]
            raise Broken(f"tensor {name[:80]} of {dtype} {shape} does not fill {end - begin} bytes")
        pieces.append((begin, end, name))
    at = 0
    for begin, end, name in sorted(pieces):
        if begin != at:
            raise Broken(
                f"tensor {name[:80]} {'leaves a hole' if begin > at else 'overlaps another'} at byte {at}"
            )
        at = end
    return at


def inside(name: str) -> bool:
    """Whether a file name from an index or the Hub stays within its folder, and on its line wherever it is told."""
    if _CONTROL.search(name):
        return False
    return bool(name) and not os.path.isabs(name) and ".." not in name.replace("\\", "/").split("/")


def opened(folder: str, name: str) -> BinaryIO:
    """The file, opened to read its bytes; raises Broken."""
    try:
        return regular_file.opened(os.path.join(folder, name))
    except regular_file.Unfit as why:
        raise Broken(str(why)) from why


def _instead(file: BinaryIO, size: int) -> str | None:
    """What stands in place of a shard, where it can be told."""
    if size == 0:
        return "empty"
    file.seek(0)
    head = file.read(4096).lstrip()
    if head.startswith(b"version https://git-lfs.github.com/spec/"):
        return "a Git LFS pointer, not the file it points to"
    if head[:14].lower().startswith((b"<!doctype html", b"<html")):
        return "an HTML page, not a shard"
    if head.startswith(b"{") and size < 1 << 20:
        return "a JSON answer, not a shard" if b'"error"' in head else "a JSON text, not a shard"
    return None
