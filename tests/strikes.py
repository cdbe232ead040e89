"""Where a run is struck, and what is different afterwards: the rows of `test_resume.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tests.striking import WAYS, Reached, Told, Way

PATCHED = ["patch", "launch", "outcome"]
UNSTARTED = ["patch", "launch", "outcome", "stop", "launch", "outcome"]
"""Of a launch on record whose engine never was: it is followed to its end, cleaned, and made again."""
REPAIRED = ["launch", "outcome", "stop", "patch", "launch", "outcome"]
TOLD_AGAIN = [*REPAIRED[:2], *REPAIRED[1:]]
"""The failure is read again from the log of the launch, which is not made again."""
CLEANED_AGAIN = [*REPAIRED[:3], *REPAIRED[1:]]

Fate = Literal["goes on", "late", "dies"]
"""Of a host's program that was in the middle: it goes on at once, while the second run is there already, or never."""


@dataclass(frozen=True)
class Strike:
    """A row: where the first run is struck, and what is different afterwards."""

    step: str
    at: Literal["start", "middle", "end"]
    way: Way
    moment: Told | Reached | Literal["download", "following"]
    scenario: Literal["predicted", "fresh", "failing", "stubborn"] = "predicted"
    fate: Fate = "goes on"
    journal: list[str] = field(default_factory=list)
    later: list[str] = field(default_factory=list)
    """The journal where the signal was taken a moment later, once the host was asked already."""

    def __str__(self) -> str:
        return f"{self.step}-{self.at}-{self.way}-{self.fate}".replace(" ", "-")


def around(
    step: str, told: str, first_way: int, middle: Reached | Literal["download", "following"], **more: object
) -> list[Strike]:
    """A step's start, middle and end, each struck in another way."""
    ways = [WAYS[(first_way + turn) % 3] for turn in range(3)]
    return [
        Strike(step, "start", ways[0], Told(told, "started"), **more),  # type: ignore[arg-type]
        Strike(step, "middle", ways[1], middle, **more),  # type: ignore[arg-type]
        Strike(step, "end", ways[2], Told(told, "ended"), **more),  # type: ignore[arg-type]
    ]


SECOND_FILE = Reached("config_files", "os.rename", "/config.json'")
"""The sidecar is exchanged, the file that decides is not yet."""
LAST_BACK = Reached("config_files", "os.rename", "/hf_quant_config.json'")
NOT_STARTED = Reached("launch", "subprocess.Popen", "deploy-launch")
NOT_RECORDED = Reached("launch", "os.rename", "process.json", 2)
CLEANED = Reached("stop", "open", "journal.jsonl")

STRIKES = [
    *around("survey", "look at", 0, Reached("look", "open", "boot_id")),
    *around("lock", "lock", 1, Reached("lock", "os.truncate", "")),
    *around("download", "download", 2, "download", scenario="fresh"),
    *around("verify", "verify", 0, Reached("verify", "open", "model-00003"), scenario="fresh"),
    *around("patch", "patch", 1, SECOND_FILE),
    *around("launch", "start", 2, NOT_STARTED),
    *around("follow", "launch 1", 0, "following"),
    *around("smoke", "smoke", 1, Reached("smoke", "socket.connect", "127.0.0.1")),
    Strike(
        "clean",
        "start",
        "interrupt",
        Told("clean", "started"),
        "failing",
        journal=TOLD_AGAIN,
        later=CLEANED_AGAIN,
    ),
    Strike("clean", "middle", "kill", CLEANED, "failing", journal=CLEANED_AGAIN),
    Strike("clean", "end", "closed", Told("clean", "ended"), "failing", journal=CLEANED_AGAIN),
    Strike("repair", "start", "kill", Told("patch", "started"), "failing", journal=CLEANED_AGAIN),
    Strike("repair", "middle", "closed", SECOND_FILE, "failing"),
    Strike("repair", "end", "interrupt", Told("patch", "ended"), "failing"),
    *around("relaunch", "launch 2", 1, Reached("watch", "open", "process.json"), scenario="failing"),
]
STRIKES += [
    Strike("patch", "middle", "kill", SECOND_FILE, fate="late"),
    Strike("patch", "middle", "closed", SECOND_FILE, fate="dies", journal=["patch", *PATCHED]),
    Strike("launch", "middle", "closed", NOT_STARTED, fate="late"),
    Strike("launch", "middle", "kill", NOT_RECORDED),
    Strike("launch", "middle", "interrupt", NOT_STARTED, fate="dies", journal=UNSTARTED),
    Strike("clean", "middle", "interrupt", CLEANED, "failing", fate="late", journal=CLEANED_AGAIN),
    Strike("clean", "middle", "kill", CLEANED, "failing", fate="dies", journal=TOLD_AGAIN),
]
TAKEN_BACK = [
    *around("revert", "revert", 2, LAST_BACK, scenario="stubborn"),
    Strike("revert", "middle", "kill", LAST_BACK, "stubborn", fate="late"),
    Strike("revert", "middle", "closed", LAST_BACK, "stubborn", fate="dies"),
]
