"""Builds the headline of a page: which drives are most urgent, and how many have problems. Pure."""

import re
from collections.abc import Sequence

from exporter.io.verdict import Verdict
from exporter.pages.judgement import BOTTLENECK_LEADS, in_order, is_stalled
from exporter.pages.page_texts import capitalized, word
from exporter.pages.views import DriveView
from exporter.smart.drive_problems import Status

#: The end of a problem that names its source. The sentence leaves it out.
_SOURCE = " (SMART self-assessment)"

_SENTENCES = {
    Verdict.DEVICE: "{name} is at its limit",
    Verdict.THROTTLED: "{name} is at the limit of its provider",
    Verdict.CPU_SOFTIRQ: "interrupts limit {name}",
    Verdict.WRITE_CACHE: "the write cache of {name} is full",
    Verdict.THERMAL: "heat slows {name} down",
    Verdict.LINK: "a slow link limits {name}",
    Verdict.UNKNOWN: "{name} is slow for an unknown reason",
}


def sentence(drives: Sequence[DriveView]) -> str:
    """Returns one to three sentences that say whether anything is wrong on the host.

    The first names the most urgent drives.
    """
    if not drives:
        return "No drive is monitored. Check --collector.disk.device-include."
    limited = [drive for drive in in_order(drives) if drive.verdict is not Verdict.NONE]
    parts = [
        f"requests of {drive.name} hang"
        if drive.now is not None and is_stalled(drive.now)
        else _SENTENCES[drive.verdict].format(name=drive.name)
        for drive in limited[:2]
    ]
    only = limited[0] if len(limited) == 1 else None
    if only is not None and only.verdict is Verdict.DEVICE and only.facts.carries_mysql:
        state = parts[0].replace(only.name, "the drive", 1)
        parts = [f"MySQL waits for {only.name}: {state}"]
    if len(limited) > 2:
        more = len(limited) - 2
        parts.append(f"{word(more)} more {'has' if more == 1 else 'have'} a bottleneck")
    failing = _failing(drives)
    is_told = failing and len(drives) == 1
    second = "" if is_told else _health_sentence(drives, is_limited=bool(limited))
    names = {drive.name for drive in drives}
    return " ".join(
        f"{each if re.split('[ :]', each)[0] in names else capitalized(each)}."
        for each in (_listed(failing), _listed(parts), second)
        if each
    )


def _failing(drives: Sequence[DriveView]) -> list[str]:
    """Returns what is critical about the health of the drives, of two of them at most."""
    critical = [
        drive
        for drive in in_order(drives)
        if drive.status is Status.CRITICAL and drive.todos[0].lead not in BOTTLENECK_LEADS
    ]
    texts = []
    for drive in critical[:2]:
        first, _, rest = drive.todos[0].lead.rstrip(".").removesuffix(_SOURCE).partition(" ")
        if drive.facts.is_missing:
            texts.append(f"{drive.name} is missing")
        elif first == "It":
            texts.append(f"{drive.name} {rest}")
        elif first == "Its":
            texts.append(f"{drive.name}: its {rest}")
        else:
            texts.append(f"{drive.name}: {first} {rest}")
    return texts


def _health_sentence(drives: Sequence[DriveView], *, is_limited: bool) -> str:
    total = len(drives)
    missing = sum(drive.facts.is_missing for drive in drives)
    critical = sum(
        drive.status is Status.CRITICAL and not drive.facts.is_missing for drive in drives
    )
    warned = sum(drive.status is Status.WARNING for drive in drives)
    parts = []
    if missing:
        parts.append(f"{word(missing)} {_is(missing)} missing")
    if critical:
        parts.append(f"{word(critical)} {_is(critical)} critical")
    if warned:
        parts.append(f"{word(warned)} {'needs' if warned == 1 else 'need'} attention")
    if warned and total == 1 and is_limited:
        return ""  # The bottleneck is named.
    if parts and total == 1:
        return parts[0].replace("one", drives[0].name, 1)
    if parts and warned == total:
        return f"{'both' if total == 2 else f'all {word(total)}'} drives need attention"
    return (
        f"of {word(total)} drives, {_listed(parts)}"
        if parts
        else _healthy_sentence(drives, is_limited)
    )


def _healthy_sentence(drives: Sequence[DriveView], is_limited: bool) -> str:
    """Returns that all drives are healthy, as far as known. Missing SMART data is no problem."""
    total = len(drives)
    unknown = sum(not drive.facts.has_smart_data for drive in drives)
    healthy = total - unknown
    if total == 1 and not unknown:
        return f"{drives[0].name} is healthy"
    if unknown == total:
        name = drives[0].name if total == 1 else "no drive"
        calm = "" if is_limited else f"{name} has {'no' if total == 1 else 'a'} bottleneck. "
        is_virtual = all(
            drive.facts.smart is not None and "virtual" in drive.facts.smart.message
            for drive in drives
        )
        if is_virtual:
            return f"{calm}Virtual disks provide no SMART data"
        return (
            f"{calm}{capitalized(name)} provides SMART data"
            if total > 1
            else (f"{calm}{name} provides no SMART data")
        )
    if unknown:
        return (
            f"{word(healthy)} of {word(total)} drives {_is(healthy)} healthy; the others have no"
            " SMART data"
        )
    return f"{'both' if total == 2 else f'all {word(total)}'} drives are healthy"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _listed(parts: Sequence[str]) -> str:
    *first, last = parts or [""]
    return f"{', '.join(first)} and {last}" if first else last
