"""What has each host of a launch to do with the cause of its failure, in a sentence each?"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from orchestrator.diagnosis.across import JointDiagnosis
from orchestrator.diagnosis.verdict import Diagnosis

LONGEST_WORDS = 160
"""Characters of what a host said that are shown: it only followed."""
_SOURCE = re.compile(r"\[/\S{1,200}\.(?:cc|cpp|h|hpp|cu):\d{1,6}\] ")
"""Where in its own source a library says it."""
_VARYING = re.compile(r"0x[0-9a-f]+|\d+")
PORTS = "any port of net.ipv4.ip_local_port_range, dialled from both sides"


def hosts_text(hosts: Sequence[str], diagnoses: Sequence[Diagnosis], joint: JointDiagnosis) -> list[str]:
    """On which of the hosts the cause is, and what the others have to do with it, a sentence for all
    of whom the same is to be said."""
    if joint.apart:
        return [_apart(hosts, diagnoses)]
    cause = hosts[joint.cause]
    begins = f"{cause}, by {len(hosts)} logs read together" if _failed(joint) else f"{cause} tells most"
    if joint.stopped:
        begins = f"{cause} was told to stop; what others say follows from that"
    if joint.untold:
        begins += "; it only says that another host is gone, and no log tells why"
    if joint.unsaid:
        begins += "; the process that failed there says nothing: it was killed, or this log is not whole"
    alike: dict[str, list[str]] = defaultdict(list)
    words: dict[str, str] = {}
    for host, diagnosis, part in zip(hosts, diagnoses, joint.parts, strict=True):
        if part != "cause":
            sentence = _sentence(diagnosis, part, untold=joint.untold)
            key = _VARYING.sub("#", sentence)
            alike[key].append(host)
            words.setdefault(key, sentence)
    return [begins, *(f"{', '.join(others)}: {words[key]}" for key, others in alike.items())]


def _failed(joint: JointDiagnosis) -> bool:
    return joint.verdict in ("fault", "unknown_fault", "hang")


def _apart(hosts: Sequence[str], diagnoses: Sequence[Diagnosis]) -> str:
    """That ranks wait for each other where they meet, and what must be open between their hosts."""
    places = dict.fromkeys(each.meeting.place for each in diagnoses if each.meeting and each.meeting.place)
    where = f" ({', '.join(places)})" if places else ""
    differ = " They were given different places." if len(places) > 1 else ""
    return (
        f"{' and '.join(hosts)} do not reach each other: the ranks of each wait for the others where all meet{where}."
        f"{differ} Open between them must be that port and {PORTS}. Or one of them was ended while it waited"
    )


def _sentence(diagnosis: Diagnosis, part: str, *, untold: bool) -> str:
    words = _words(diagnosis)
    if part == "same":
        return "says the same"
    if part == "waits":
        place = diagnosis.meeting.place if diagnosis.meeting else ""
        return f"waits for the others where the ranks meet{f' ({place})' if place else ''}"
    if part == "lives":
        return "lives, and says nothing of a failure"
    if part == "goes_on":
        ends = "ends without a word of a failure: look there for who ended it, or whether the machine is gone"
        return ends if untold else "says nothing of a failure"
    how = {"other": "fails too", "follows": "only follows", "ended": "was ended"}[part]
    return f"{how}: {words}" if words else how


def _words(diagnosis: Diagnosis) -> str:
    text = " ".join(diagnosis.root_cause.text.split()) if diagnosis.root_cause else ""
    text = _SOURCE.sub("", text)
    return text if len(text) <= LONGEST_WORDS else f"{text[: LONGEST_WORDS - 4].rsplit(' ', 1)[0]} ..."
