"""A stand-in for nvidia-smi on a host with eight RTX PRO 6000 cards on two sockets; nothing runs on them."""

import sys

CARDS = 8
VALUES = {
    "name": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    "compute_cap": "12.0",
    "memory.total": "97887",
    "memory.used": "2",
    "driver_version": "580.95.05",
    "mig.mode.current": "Disabled",
}


def value(field: str, card: int) -> str:
    return {"index": str(card), "uuid": f"GPU-{card:08d}"}.get(field) or VALUES.get(field, "[N/A]")


def link(a: int, b: int) -> str:
    return " X " if a == b else "NODE" if a // 4 == b // 4 else "SYS"


arguments = sys.argv[1:]
query = next((item for item in arguments if item.startswith("--query-gpu=")), None)
if query:
    for number in range(CARDS):
        print(", ".join(value(field, number) for field in query.partition("=")[2].split(",")))
elif arguments[:1] == ["topo"] and "-m" in arguments:
    print(
        "\t"
        + "\t".join(f"GPU{number}" for number in range(CARDS))
        + "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID"
    )
    for row in range(CARDS):
        cells = "\t".join(link(row, column) for column in range(CARDS))
        print(f"GPU{row}\t{cells}\t{64 * (row // 4)}-{64 * (row // 4) + 63}\t{row // 4}\t\tN/A")
elif arguments[:1] == ["topo"]:
    print(" \t" + "\t".join(f"GPU{number}" for number in range(CARDS)) + "\t")
    for row in range(CARDS):
        print(f" GPU{row}\t" + "\t".join("X" if row == column else "OK" for column in range(CARDS)) + "\t")
