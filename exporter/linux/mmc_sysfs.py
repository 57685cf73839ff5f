"""Reads the wear of an eMMC that the kernel reports in sysfs.

The files are `life_time` and `pre_eol_info` in the directory of the card
(/sys/block/mmcblk0/device). An eMMC 5.0 or later has the values in its register EXT_CSD, bytes 267
to 269 (JEDEC JESD84-B51). An SD card has no such files.

The kernel reads the register once, when it initialises the card (mmc_init_card in
drivers/mmc/core/mmc.c). Reading the files sends no command to the card, and their content changes
only at the next boot. Linux 4.10 and earlier do not have the files. No kernel document lists them:
see mmc_std_attrs in drivers/mmc/core/mmc.c.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from exporter.errors import NotAvailable, ParseError, SourceError
from exporter.linux import files
from exporter.linux.files import Parsed

T = TypeVar("T")

#: The maximum size of a file, in bytes. `life_time` has 10.
MAX_FILE_BYTES = 64

#: The width of the ranges in which an eMMC reports its wear, as a share of its life.
LIFE_STEP_RATIO = 0.1

#: The largest code of the used life: it is longer than the estimated life.
_EXCEEDED = 0x0B

_LIFE_TIME = re.compile(r"0x([0-9a-f]{2}) 0x([0-9a-f]{2})\n", re.ASCII | re.IGNORECASE)
#: Older kernels, such as Linux 4.14, print the code without a prefix.
_PRE_EOL = re.compile(r"(?:0x)?([0-9a-f]{2})\n", re.ASCII | re.IGNORECASE)

#: The state of the reserved blocks for each code of PRE_EOL_INFO. 0 means not defined.
_RESERVES = {0: None, 1: "normal", 2: "warning", 3: "urgent"}


@dataclass(frozen=True, slots=True)
class MmcHealth:
    """The wear of an eMMC. None means that the card does not report the value.

    The card reports ranges of 10 % of its life. A ratio is the lower bound of the range, and 1.0
    means that the estimated life is exceeded.

    type_a_used_ratio: the used share of the life of the blocks of type A, mostly SLC.
    type_b_used_ratio: the same for the blocks of type B, mostly MLC or TLC.
    reserve: the state of the reserved blocks: ``normal``, ``warning`` (80 % of them are used), or
        ``urgent`` (90 % are used).
    """

    type_a_used_ratio: float | None = None
    type_b_used_ratio: float | None = None
    reserve: str | None = None


def read_health(card: Path) -> Parsed[MmcHealth | None]:
    """Returns the wear of a card; None if it has no such files, as an SD card.

    Never raises. A file that cannot be read or parsed is a fault, and its values are unknown.

    card: the directory of the card in sysfs.
    """
    faults: list[SourceError] = []
    life = _read(card / "life_time", parse_life_time, faults)
    reserve = _read(card / "pre_eol_info", parse_reserve, faults)
    if life is None and reserve is None and not faults:
        return Parsed(None)
    return Parsed(MmcHealth(*(life or (None, None)), reserve or None), tuple(faults))


def parse_life_time(text: str) -> tuple[float | None, float | None]:
    r"""Returns the used shares of the life from the text of `life_time`, as in `MmcHealth`.

    Raises:
        ParseError: the text is not two codes, or a code is reserved.

    >>> parse_life_time("0x02 0x00\n")
    (0.1, None)
    """
    match = _LIFE_TIME.fullmatch(text)
    if match is None:
        raise ParseError(f"life_time: not two codes: {text[:80]!r}")
    first, second = (int(code, 16) for code in match.groups())
    if max(first, second) > _EXCEEDED:
        raise ParseError(f"life_time: a reserved code: {text[:80]!r}")
    return _used_ratio(first), _used_ratio(second)


def parse_reserve(text: str) -> str:
    """Returns the state of the reserved blocks from the text of `pre_eol_info`.

    The result is a text as in `MmcHealth`, and empty if the card does not report the state.

    Raises:
        ParseError: the text is not a code, or the code is reserved.
    """
    match = _PRE_EOL.fullmatch(text)
    if match is None:
        raise ParseError(f"pre_eol_info: not a code: {text[:80]!r}")
    code = int(match[1], 16)
    if code not in _RESERVES:
        raise ParseError(f"pre_eol_info: a reserved code: {text[:80]!r}")
    return _RESERVES[code] or ""


def _used_ratio(code: int) -> float | None:
    return (code - 1) / 10 if code else None


def _read(file: Path, parse: Callable[[str], T], faults: list[SourceError]) -> T | None:
    try:
        return parse(files.read(file, MAX_FILE_BYTES))
    except NotAvailable:
        return None
    except ParseError as e:
        faults.append(ParseError(f"{file}: {e}"))
    except SourceError as e:
        faults.append(e)
    return None
