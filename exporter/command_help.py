"""The text of `--help`: commands by subject, flags by subject, and examples.

It also finds the name that a user probably meant. `exporter.cli` has the parsers.
"""

import argparse
import os
from collections.abc import Collection, Iterator, Mapping, Sequence

#: The commands in the order of `--help`, keyed by subject. A name that is not a command is ignored.
_SUBJECTS: Mapping[str, Sequence[str]] = {
    "Drives": ("check", "top", "latency", "self-test", "forget", "merge-wear"),
    "Measurements": ("probe", "slc", "steady-state", "bench"),
    "Scheduled probes": ("enable-probes", "disable-probes"),
    "Bug reports": ("read", "capture", "version"),
    "Services": ("smart-agent",),
    "Help": ("help",),
}

#: The columns of an output that is not a terminal.
_COLUMNS = 80
_STANDARD_OUTPUT = 1

#: Command lines with a short explanation, keyed by command. The key "" is the daemon.
_EXAMPLES: Mapping[str, Sequence[tuple[str, str]]] = {
    "": (
        ("ssd-exporter check", "the health of every drive"),
        ("ssd-exporter --once | grep ssd_io_bottleneck", "the metrics, without a daemon"),
        ("ssd-exporter slc /mnt/data/ssd-test", "the size of the write cache"),
        ("sudo ssd-exporter enable-probes", "scheduled latency probes"),
        ("ssd-exporter --web.listen-address=:10177", "the daemon, for Prometheus elsewhere"),
    ),
    "check": (
        ("ssd-exporter check", "a table for people, and for Nagios"),
        ("ssd-exporter check --json | jq '.drives[].problems'", "for programs"),
    ),
    "read": (
        ("ssd-exporter read sda.json", "what saved output of smartctl means"),
        ("smartctl -x --json /dev/sda | ssd-exporter read", "the same from a pipe"),
    ),
    "self-test": (
        ("sudo ssd-exporter self-test nvme0 short", "a test of two minutes"),
        ("sudo ssd-exporter self-test /dev/sda abort", "end the running test"),
    ),
    "forget": (("sudo ssd-exporter forget S466NX0M123456", "after the drive was taken out"),),
    "merge-wear": (("sudo ssd-exporter merge-wear", "every history.sqlite.kept-* of the daemon"),),
    "probe": (
        ("ssd-exporter probe --directory /mnt/data/ssd-test", "on any filesystem"),
        ("sudo ssd-exporter probe fsync", "in the daemon's directory"),
    ),
    "slc": (
        ("ssd-exporter slc /mnt/data/ssd-test", "at most 16 GiB"),
        ("ssd-exporter slc --bytes 64GiB --html slc.html DIR", "with a report"),
    ),
    "steady-state": (
        ("ssd-exporter steady-state --directory /mnt/data/ssd-test", "run up to 25 rounds"),
        ("ssd-exporter steady-state --kept", "analyse the daemon's rounds"),
    ),
    "bench": (
        ("ssd-exporter bench /mnt/data/ssd-test", "the whole matrix"),
        ("ssd-exporter bench --block-size 16K --mode randread DIR", "one block size and mode"),
        ("ssd-exporter bench --size 8G --seconds 30 --html bench.html DIR", "with a report"),
    ),
    "enable-probes": (
        ("sudo ssd-exporter enable-probes --dry-run", "show what would change"),
        ("sudo ssd-exporter enable-probes", "on MySQL's filesystems"),
        ("sudo ssd-exporter enable-probes /srv/data/ssd-probe", "on any filesystem"),
    ),
    "disable-probes": (("sudo ssd-exporter disable-probes", "undo enable-probes"),),
    "capture": (("sudo ssd-exporter capture /tmp/host", "files for a bug report"),),
    "help": (("ssd-exporter help check", "the same as ssd-exporter check --help"),),
    "version": (("ssd-exporter version", "the versions, for a bug report"),),
    "smart-agent": (("sudo ssd-exporter smart-agent", "as its systemd unit starts it"),),
    "latency": (
        ("sudo ssd-exporter latency", "all drives for 10 s, live"),
        ("sudo ssd-exporter latency nvme0n1 --seconds 60 --once", "for a ticket"),
        ("sudo ssd-exporter latency --json | jq '.data.devices'", "for programs"),
    ),
    "top": (
        ("ssd-exporter top", "the drives, live; press ? for the keys"),
        ("ssd-exporter top --once", "one interval as text, for a ticket"),
        ("ssd-exporter top --json | jq '.drives[].verdict'", "for programs"),
    ),
}

#: The least similarity of a name that is suggested, from 0 to 1.
_LEAST_SIMILARITY = 0.7

#: The title and the beginnings of the flags of each group of the daemon's flags.
FLAG_GROUPS: Sequence[tuple[str, tuple[str, ...]]] = (
    ("network", ("--web.",)),
    ("metrics", ("--compat.", "--collector.disk.device")),
    ("probes", ("--probe.", "--fio.")),
    ("files and programs", ("--config.file", "--state.", "--path.", "--smartctl.")),
    ("log", ("--log.",)),
    ("collectors (all are enabled by default)", ("--collector.", "--no-collector.")),
)


class HelpFormatter(argparse.HelpFormatter):
    """Wraps paragraphs, and keeps lines that start with a space as they are.

    The parser creates one for each flag. Without a width argparse would import shutil, which needs
    0.4 MB for as long as the daemon runs.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = []
        for line in text.splitlines():
            kept = line.startswith(" ") or not line
            lines += [line] if kept else _wrapped(line, width, break_on_hyphens=False)
        return "\n".join(f"{indent}{line}" for line in lines)


def _columns() -> int:
    """Returns the columns of the terminal, as `shutil.get_terminal_size` does."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(_STANDARD_OUTPUT).columns or _COLUMNS
    except OSError:
        return _COLUMNS


def usage() -> str:
    """Returns the usage of the program."""
    return (
        "ssd-exporter [FLAG ...]            run the daemon\n"
        "       ssd-exporter COMMAND [FLAG ...]    run a command\n"
        "       ssd-exporter COMMAND --help        flags and examples of a command"
    )


def overview(summaries: Mapping[str, str]) -> str:
    """Returns the description of the program, with the commands by subject and examples.

    summaries: one line of help, keyed by command.
    """
    lines = [
        "SSD health and I/O bottleneck monitor for Linux, with a Prometheus endpoint.",
        "Without a command it runs the daemon.",
        "",
        "commands:",
    ]
    listed = {name for names in _SUBJECTS.values() for name in names}
    others = tuple(name for name in summaries if name not in listed)
    for subject, names in (*_SUBJECTS.items(), ("Other", others)):
        known = [name for name in names if name in summaries]
        lines += [f"  {subject}"] if known else []
        for name in known:
            first, *more = _wrapped(summaries[name], 60)
            lines += [f"    {name:<15} {first}", *(f"{'':<20}{line}" for line in more)]
    return "\n".join([*lines, "", *examples("")])


def examples(command: str) -> Iterator[str]:
    """Yields the lines with the examples of a command; those of the daemon for ""."""
    shown = _EXAMPLES.get(command, ())
    if shown:
        yield "examples:"
    for line, purpose in shown:
        yield f"  {line}"
        yield f"      {purpose}"


def group_of(flag: str) -> str:
    """Returns the title of the group of a flag; empty for a flag of no group."""
    for title, beginnings in FLAG_GROUPS:
        if flag.startswith(beginnings):
            return title
    return ""


def suggestion(name: str, known: Collection[str]) -> str:
    """Returns the known name that is most similar to a name; empty if none is similar."""
    import difflib  # noqa: PLC0415 - needs 0.2 MB, and only a mistake needs it

    # Without the dashes, which all flags have in common.
    bare = {word.lstrip("-"): word for word in known}
    near = difflib.get_close_matches(name.lstrip("-"), bare, n=1, cutoff=_LEAST_SIMILARITY)
    return bare[near[0]] if near else ""


def mistake_hint(message: str, program: str, flags: Collection[str], words: Collection[str]) -> str:
    """Returns what a user can do about a mistake in the arguments.

    message: the message of argparse. program: the program with its command, such as
        "ssd-exporter check". flags: the known flags. words: the names of all commands.
    """
    see = f"see {program} --help"
    rejected = message.removeprefix("unrecognized arguments: ")
    if rejected == message:
        return see
    first = rejected.split(" ")[0].partition("=")[0]
    if first in words:
        return f"name the command first: ssd-exporter {first} ...; {see}"
    near = suggestion(first, flags) if first.startswith("--") else ""
    return f"did you mean {near}? {see}" if near else see


def _wrapped(text: str, width: int, *, break_on_hyphens: bool = True) -> list[str]:
    import textwrap  # noqa: PLC0415 - its patterns take 0.1 MB, and the daemon needs none

    return textwrap.wrap(text, width, break_on_hyphens=break_on_hyphens)
