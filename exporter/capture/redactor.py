"""Replaces the identifiers of drives, hosts and their owners with placeholders.

All occurrences of an identifier are replaced with the same placeholder. A reader can therefore see
that two files refer to the same drive or name.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice

#: The smallest length of a serial number that is replaced in free text, in characters. A shorter
#: one may occur in any word by chance, so it is replaced only in fields that contain a serial
#: number.
_MIN_SERIAL_LENGTH_IN_TEXT = 5

#: The smallest length of a host name that is replaced, in characters. A shorter one may occur in
#: any text by chance.
_MIN_HOST_NAME_LENGTH = 3

#: The largest number of placeholders that are tried for one identifier. A placeholder must not
#: contain an identifier. The limit is necessary because a serial number of zeros is part of every
#: placeholder.
_MAX_TRIES = 10_000

#: Matches the digits of a WWN: 16 digits for 64 bits (NAA or EUI-64), 32 digits for 128 bits (NAA 6
#: or NGUID).
_HEX = r"(?:[0-9A-Fa-f]{32}|[0-9A-Fa-f]{16})"
_NAMED_HEX = re.compile(rf"(?i)(?<![0-9A-Za-z])(0x|naa\.|eui\.|wwn-0x)({_HEX})(?![0-9A-Fa-f])")
#: Matches WWNs as smartctl prints them: 5 002538 f00000031, or 002538 4b21000021 for an EUI-64.
_SPACED_HEX = re.compile(
    r"(?i)(?<![0-9a-z])(?:([0-9a-f]) ([0-9a-f]{6}) ([0-9a-f]{9})"
    r"|([0-9a-f]{6}) ([0-9a-f]{10}))(?![0-9a-f])"
)
_UUID = re.compile(
    r"(?i)(?<![0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])"
)

#: Components of paths that are not replaced. They occur on many hosts, so they do not identify one.
_COMMON = """
    . .. @ apps backup backups base bin binlog binlogs boot cgroup config data data0 data1 data2
    data3 db dbs debug dev dev0 devices disk disk0 disk1 disk2 disk3 doublewrite efi etc fs home
    hugepages images init.scope io.pressure io.stat kernel lib lib64 libexec local log logs
    lost+found mapper mariadb mariadb.service media mnt mqueue mysql mysql-data mysql.service
    mysqld mysqld.service none opt overlay passport percona proc pts redo relaylog root rootfs
    rw run sbin security share shm snap srv ssd swap sys sysfs system system.slice systemd tmp
    tmpfs tracing undo unified user user.slice usr var work
"""
_COMMON_NAMES = frozenset(_COMMON.split())
_KERNEL_NAME = re.compile(
    r"(?:(?:[shv]|xv)d[a-z]{1,3}\d{0,3}|nvme\d{1,4}(?:c\d{1,4})?n\d{1,4}(?:p\d{1,3})?"
    r"|(?:md|dm-|loop|ram|zram|sr|nbd|rbd|sg|bcache)\d{1,5}(?:p\d{1,3})?"
    r"|mmcblk\d{1,3}(?:p\d{1,3})?|c\d{1,2}d\d{1,3}(?:p\d{1,3})?|cciss)",
    re.ASCII,
)
_UNIT = re.compile(r".+\.(service|slice|scope|mount|socket)", re.DOTALL)


class Redactor:
    """Replaces identifiers with placeholders.

    It replaces the identifiers that were passed to the constructor, and everything that has the
    form of a UUID or WWN. Placeholders are numbered in the order in which the identifiers are
    passed, so the same input always has the same result. A placeholder that contains a serial
    number or WWN of 5 or more characters is not used. After 10,000 such placeholders, the last one
    is used.
    """

    def __init__(
        self, serials: Sequence[str], wwns: Sequence[str], host_names: Sequence[str] = ()
    ) -> None:
        """Stores the identifiers and assigns their placeholders.

        serials: the serial numbers as the drives report them, without padding.
        wwns: the hexadecimal digits of the WWNs; 16 or 32 digits each.
        host_names: the names of the host, the longest one first. Names of less than 3 characters,
            and common names such as "data", are ignored.
        """
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
        self._spellings = self._placeholders_by_spelling()
        self._known = _longest_first_pattern(self._spellings)
        names = [
            name
            for name in host_names
            if len(name) >= _MIN_HOST_NAME_LENGTH and name not in _COMMON_NAMES
        ]
        self._host = re.compile(
            rf"(?<![0-9A-Za-z])(?:{'|'.join(map(re.escape, names))})(?![0-9A-Za-z])"
            if names
            else r"(?!)"
        )

    def serial(self, text: str) -> str:
        """Returns the placeholder for a serial number. For an empty text the result is empty."""
        if not text:
            return ""
        return self._placeholder(self._serials, text, "serial", lambda n: f"SN{n:08d}")

    def wwn(self, digits: str) -> str:
        """Returns the placeholder for the hexadecimal digits of a WWN, in lower case.

        The placeholder has the same length. If the WWN has 16 digits or is of the type NAA 6, the
        first 7 digits are kept, because they identify the vendor. Values that mean "no WWN" (all
        digits 0, or all digits f) are returned unchanged.
        """
        digits = digits.lower()
        if not digits.strip("0") or not digits.strip("f"):
            return digits
        kept = 7 if len(digits) == 16 or digits.startswith("6") else 0
        width = len(digits) - kept
        return self._placeholder(
            self._wwns, digits, "wwn", lambda n: f"{digits[:kept]}{n % 16**width:0{width}x}"
        )

    def name(self, text: str) -> str:
        """Returns the placeholder for one component of a path.

        Components that occur on many hosts, and names that the kernel gives to block devices, are
        returned unchanged.
        """
        if not text or text in _COMMON_NAMES or _KERNEL_NAME.fullmatch(text):
            return text
        unit = _UNIT.fullmatch(text)
        suffix = f".{unit[1]}" if unit else ""
        return self._placeholder(self._names, text, "name", lambda n: f"name{n}{suffix}")

    def path(self, text: str) -> str:
        """Returns a path in which each component is replaced as in `name`."""
        return "/".join(map(self.name, text.split("/")))

    def text(self, text: str) -> str:
        """Returns a text in which all known identifiers, UUIDs and WWNs are replaced."""
        text = _UUID.sub(lambda match: self._uuid(match[0].lower()), text)
        text = _NAMED_HEX.sub(lambda match: match[1] + self.wwn(match[2]), text)
        text = _SPACED_HEX.sub(self._spaced_wwn, text)
        text = self._known.sub(lambda match: self._known_placeholder(match[0]), text)
        return self._host.sub("host", text)

    def _placeholders_by_spelling(self) -> dict[str, str]:
        """Returns the placeholders of serial numbers and WWNs, keyed by the original in lower case.

        Serial numbers shorter than 5 characters are omitted. The others have one key for each way
        in which they may be spelled (`_SPELLINGS`).
        """
        spellings: dict[str, str] = {}
        for text, placeholder in self._serials.items():
            if len(text) >= _MIN_SERIAL_LENGTH_IN_TEXT:
                for spell in _SPELLINGS:
                    spellings.setdefault(spell(text).lower(), spell(placeholder))
        return spellings | self._wwns

    def _known_placeholder(self, text: str) -> str:
        return self._spellings.get(text.lower(), "REDACTED")

    def _uuid(self, text: str) -> str:
        return self._placeholder(
            self._uuids, text, "uuid", lambda n: f"00000000-0000-4000-8000-{n:012d}"
        )

    def _spaced_wwn(self, match: re.Match[str]) -> str:
        digits = "".join(filter(None, match.groups()))
        new = self.wwn(digits)
        if match[1] is not None:
            return f"{new[0]} {new[1:7]} {new[7:]}"
        return f"{new[:6]} {new[6:]}"

    def _placeholder(
        self, known: dict[str, str], text: str, kind: str, create: Callable[[int], str]
    ) -> str:
        if text not in known:
            numbers = self._counters.setdefault(kind, count(1))
            for n in islice(numbers, _MAX_TRIES):
                known[text] = create(n)
                if known[text] != text and not self._contains_original(known[text]):
                    break
        return known[text]

    def _contains_original(self, new: str) -> bool:
        lower = new.lower()
        return any(
            len(original) >= _MIN_SERIAL_LENGTH_IN_TEXT and original.lower() in lower
            for original in self._originals
        )


def _longest_first_pattern(spellings: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)", re.IGNORECASE)


#: Functions that return the spellings of a serial number: unchanged; with underscores instead of
#: spaces, as udev writes it in /dev/disk/by-id; in hexadecimal, as in the wwid of an NVMe drive.
_SPELLINGS: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: text.replace(" ", "_"),
    lambda text: text.encode("utf-8", "backslashreplace").hex(),
)
