"""A stand-in for nvidia-smi on a host with eight RTX PRO 6000 cards on two sockets: a program that runs by itself.

STAND_IN_CARDS names the folder where a process notes the memory that it holds on a card: NUMBER with "PID MIB NAME".
What a process held is free once it is dead.
"""

import os
import sys

CARDS = 8
VALUES = {
    "name": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    "compute_cap": "12.0",
    "memory.total": "97887",
    "driver_version": "580.95.05",
    "mig.mode.current": "Disabled",
}
IDLE_MIB = 2
LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks
"""


def uuid(card: int) -> str:
    return f"GPU-{card:08d}-5e3d-4c1a-9f00-{card:012d}"


def held() -> list[tuple[int, int, int, str]]:
    """(card, pid, MiB, name) of every living process that noted itself."""
    folder = os.environ.get("STAND_IN_CARDS", "")
    processes = []
    for note in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        number = note.partition("-")[0]
        fields = text(os.path.join(folder, note)).split() if number.isdecimal() else []
        if len(fields) == 3 and alive(fields[0]):
            processes.append((int(number), int(fields[0]), int(fields[1]), fields[2]))
    return processes


def alive(pid: str) -> bool:
    return text(f"/proc/{pid}/stat").rpartition(")")[2].split()[:1] not in ([], ["Z"], ["X"])


def text(path: str) -> str:
    """What a file says; nothing where it is gone."""
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def value(field: str, card: int) -> str:
    used = IDLE_MIB + sum(mib for number, _, mib, _ in held() if number == card)
    own = {"index": str(card), "uuid": uuid(card), "memory.used": str(used)}
    return own.get(field) or VALUES.get(field, "[N/A]")


def link(a: int, b: int) -> str:
    return " X " if a == b else "NODE" if a // 4 == b // 4 else "SYS"


def query(fields: list[str]) -> None:
    for card in range(CARDS):
        print(", ".join(value(field, card) for field in fields))


def processes(fields: list[str]) -> None:
    for card, pid, mib, name in held():
        values = {"gpu_uuid": uuid(card), "pid": str(pid), "process_name": name, "used_gpu_memory": str(mib)}
        print(", ".join(values.get(field, "[N/A]") for field in fields))


def matrix() -> None:
    names = "\t".join(f"GPU{card}" for card in range(CARDS))
    print(f"\t{names}\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID")
    for row in range(CARDS):
        cells = "\t".join(link(row, column) for column in range(CARDS))
        socket = row // 4
        print(f"GPU{row}\t{cells}\t{64 * socket}-{64 * socket + 63}\t{socket}\t\tN/A")
    print(LEGEND)


def peers() -> None:
    print(" \t" + "\t".join(f"GPU{card}" for card in range(CARDS)) + "\t")
    for row in range(CARDS):
        print(f" GPU{row}\t" + "\t".join("X" if row == column else "OK" for column in range(CARDS)) + "\t")


def main(arguments: list[str]) -> int:
    """Answer one command line; the exit status."""
    options = dict(item.split("=", 1) for item in arguments if item.startswith("--") and "=" in item)
    if "--query-gpu" in options:
        query(options["--query-gpu"].split(","))
    elif "--query-compute-apps" in options:
        processes(options["--query-compute-apps"].split(","))
    elif arguments[:1] == ["topo"] and "-m" in arguments:
        matrix()
    elif arguments[:1] == ["topo"]:
        peers()
    elif arguments == ["-L"]:
        print("\n".join(f"GPU {card}: {VALUES['name']} (UUID: {uuid(card)})" for card in range(CARDS)))
    elif arguments == ["--version"]:
        print(f"DRIVER version      : {VALUES['driver_version']}\nCUDA Version        : 13.0")
    else:
        print("a stand-in for nvidia-smi: --query-gpu, --query-compute-apps, topo -m, topo -p2p r")
        return 0 if not arguments else 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
