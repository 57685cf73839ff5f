"""What names a drive, a host or its owner, replaced by the same stand-in wherever it occurs."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice

#: Shorter serial numbers may be part of any word: they are replaced in their own fields alone.
_SHORTEST_IN_TEXT = 5

_SHORTEST_HOST_NAME = 3

#: A serial number of zeros is in every stand-in.
_MOST_TRIES = 10_000

#: A 64-bit name, NAA or EUI, and a 128-bit one, NAA 6 or NGUID.
_HEX = r"(?:[0-9A-Fa-f]{32}|[0-9A-Fa-f]{16})"
_NAMED_HEX = re.compile(rf"(?i)(?<![0-9A-Za-z])(0x|naa\.|eui\.|wwn-0x)({_HEX})(?![0-9A-Fa-f])")
#: As smartctl prints them: 5 002538 f00000031, and 002538 4b21000021 for an EUI-64.
_SPACED_HEX = re.compile(
    r"(?i)(?<![0-9a-z])(?:([0-9a-f]) ([0-9a-f]{6}) ([0-9a-f]{9})"
    r"|([0-9a-f]{6}) ([0-9a-f]{10}))(?![0-9a-f])"
)
_UUID = re.compile(
    r"(?i)(?<![0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])"
)

#: Parts of paths that say nothing of whose host this is.
_PLAIN = """
    . .. @ apps backup backups base bin binlog binlogs boot cgroup config data data0 data1 data2
    data3 db dbs debug dev dev0 devices disk disk0 disk1 disk2 disk3 doublewrite efi etc fs home
    hugepages images init.scope io.pressure io.stat kernel lib lib64 libexec local log logs
    lost+found mapper mariadb mariadb.service media mnt mqueue mysql mysql-data mysql.service
    mysqld mysqld.service none opt overlay passport percona proc pts redo relaylog root rootfs
    rw run sbin security share shm snap srv ssd swap sys sysfs system system.slice systemd tmp
    tmpfs tracing undo unified user user.slice usr var work
"""
_PLAIN_NAMES = frozenset(_PLAIN.split())
_KERNEL_NAME = re.compile(
    r"(?:(?:[shv]|xv)d[a-z]{1,3}\d{0,3}|nvme\d{1,4}(?:c\d{1,4})?n\d{1,4}(?:p\d{1,3})?"
    r"|(?:md|dm-|loop|ram|zram|sr|nbd|rbd|sg|bcache)\d{1,5}(?:p\d{1,3})?"
    r"|mmcblk\d{1,3}(?:p\d{1,3})?|c\d{1,2}d\d{1,3}(?:p\d{1,3})?|cciss)",
    re.ASCII,
)
_UNIT = re.compile(r".+\.(service|slice|scope|mount|socket)", re.DOTALL)


class Redactor:
    """Replaces what `serials`, `wwns` and `host_names` hold, and whatever looks like a UUID or WWN.

    serials: as the drives say them, without padding. wwns: hexadecimal digits, 16 or 32.

    The stand-ins are counted in the order given, so the same capture gives the same text; none
    of them is itself one of the originals, or holds one.
    """

    def __init__(
        self, serials: Sequence[str], wwns: Sequence[str], host_names: Sequence[str] = ()
    ) -> None:
        self._originals = tuple({*serials, *(digits.lower() for digits in wwns)})
        self._serials: dict[str, str] = {}
        self._wwns: dict[str, str] = {}
        self._uuids: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._counters: dict[str, Iterator[int]] = {}
        for text in serials:
            self.serial(text)
        for digits in wwns:
            self.wwn(digits)
        self._known = self._pattern()
        names = [n for n in host_names if len(n) >= _SHORTEST_HOST_NAME and n not in _PLAIN_NAMES]
        self._host = re.compile(
            rf"(?<![0-9A-Za-z])(?:{'|'.join(map(re.escape, names))})(?![0-9A-Za-z])"
            if names
            else r"(?!)"
        )

    @property
    def serial_count(self) -> int:
        return len(self._serials)

    def serial(self, text: str) -> str:
        """The stand-in for a whole serial number; nothing for nothing."""
        if not text:
            return ""
        return self._stand_in(self._serials, text, "serial", lambda n: f"SN{n:08d}")

    def wwn(self, digits: str) -> str:
        """The stand-in for the digits of a WWN; the maker's part of a 64-bit one stays."""
        digits = digits.lower()
        if not digits.strip("0") or not digits.strip("f"):
            return digits
        kept = 7 if len(digits) == 16 or digits.startswith("6") else 0
        width = len(digits) - kept
        return self._stand_in(
            self._wwns, digits, "wwn", lambda n: f"{digits[:kept]}{n % 16**width:0{width}x}"
        )

    def name(self, text: str) -> str:
        """The stand-in for a part of a path, unless it is one that any host has."""
        if not text or text in _PLAIN_NAMES or _KERNEL_NAME.fullmatch(text):
            return text
        unit = _UNIT.fullmatch(text)
        suffix = f".{unit[1]}" if unit else ""
        return self._stand_in(self._names, text, "name", lambda n: f"name{n}{suffix}")

    def path(self, text: str) -> str:
        return "/".join(map(self.name, text.split("/")))

    def text(self, text: str) -> str:
        """Free text with everything in it replaced that is known or looks like a name."""
        text = _UUID.sub(lambda match: self._uuid(match[0].lower()), text)
        text = _NAMED_HEX.sub(lambda match: match[1] + self.wwn(match[2]), text)
        text = _SPACED_HEX.sub(self._spaced, text)
        text = self._known.sub(lambda match: self._found(match[0]), text)
        return self._host.sub("host", text)

    def _pattern(self) -> re.Pattern[str]:
        """All known names in all their spellings, the longest first."""
        self._spellings: dict[str, str] = {}
        for text, stand_in in self._serials.items():
            if len(text) >= _SHORTEST_IN_TEXT:
                for spelled in _SPELLINGS:
                    self._spellings.setdefault(spelled(text).lower(), spelled(stand_in))
        for digits, stand_in in self._wwns.items():
            self._spellings[digits] = stand_in
        longest_first = sorted(self._spellings, key=lambda each: (-len(each), each))
        return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)", re.IGNORECASE)

    def _found(self, text: str) -> str:
        return self._spellings.get(text.lower(), "REDACTED")

    def _uuid(self, text: str) -> str:
        return self._stand_in(
            self._uuids, text, "uuid", lambda n: f"00000000-0000-4000-8000-{n:012d}"
        )

    def _spaced(self, match: re.Match[str]) -> str:
        digits = "".join(filter(None, match.groups()))
        new = self.wwn(digits)
        if match[1] is not None:
            return f"{new[0]} {new[1:7]} {new[7:]}"
        return f"{new[:6]} {new[6:]}"

    def _stand_in(
        self, known: dict[str, str], text: str, kind: str, made: Callable[[int], str]
    ) -> str:
        if text not in known:
            numbers = self._counters.setdefault(kind, count(1))
            for n in islice(numbers, _MOST_TRIES):
                known[text] = made(n)
                if known[text] != text and not self._holds_one(known[text]):
                    break
        return known[text]

    def _holds_one(self, new: str) -> bool:
        lower = new.lower()
        return any(
            len(each) >= _SHORTEST_IN_TEXT and each.lower() in lower for each in self._originals
        )


#: As it is; as udev has it in /dev/disk/by-id; as the kernel has it in an NVMe wwid.
_SPELLINGS: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: text.replace(" ", "_"),
    lambda text: text.encode("utf-8", "backslashreplace").hex(),
)
