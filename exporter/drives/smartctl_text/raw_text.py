"""Computes the 48-bit raw value of an ATA attribute from the text that smartctl prints for it.

The drive database selects a format per attribute (`ata_format_attr_raw_value` in atacmds.cpp). The
text does not name the format, but most formats differ:

==============================  ======================================================
text                            raw value
==============================  ======================================================
12345                           the number (raw48, raw56, raw64, and others without more)
0x0b1905460b19                  the hexadecimal number (hex48, hex56, hex64)
0 0 1323                        three words of 16 bits, the highest first (raw16)
1 2 3 4 5 6                     six bytes, the highest first (raw8)
12 (0 3)                        the lowest word, then the two higher words (raw16(raw16))
12 (Average 3)                  the lowest word, then the next one (raw16(avg16))
5711 (21 244 0)                 the lowest 24 bits, then the three highest bytes (raw24(raw8))
20 (29 27 28 28 0)              the lowest byte, then the others (tempminmax, unknown layout)
0/42498290                      the number behind the slash, if the first one is 0
5/42498290                      two numbers, of 24 and 32 bits, if the second has more than 24 bits
3/32                            two numbers of 24 bits, if the name of the attribute shows it
5678h+12m                       minutes (min2hour)
5678h+12m (3)                   the same in the lowest two words, and the highest word
5678h+12m+05s                   seconds (sec2hour)
5678h+12m+05.120s               the hours in the lowest 32 bits, milliseconds above (msec24hour32)
30.5                            ten times the temperature (temp10x)
==============================  ======================================================

The raw value of "14 (Min/Max 3/52)" and of "14 (Min/Max 3/52 #7)" is the first number, because the
higher bytes have several layouts. Every other text has no raw value. An example is "5/1234" of
other attributes: the number of bits of the second number is unknown. Some hard disks count half
minutes (halfmin2hour), but print the same text as hard disks that count minutes.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

_MAX_RAW = (1 << 64) - 1
_WORD, _BYTE, _24_BITS, _32_BITS = 1 << 16, 1 << 8, 1 << 24, 1 << 32

#: The largest length of a raw text, in characters. Longer texts have no format of smartctl.
_MAX_CHARACTERS = 80

#: A temperature with its limits of the power cycle or of the whole life, and the number of times
#: that it was too high.
_TEMPERATURE = re.compile(
    r"(-?[0-9]{1,3})(?: \((?:Lifetime )?Min/Max (?:-?[0-9]{1,3}|\?)/(?:-?[0-9]{1,3}|\?)"
    r"(?: #[0-9]{1,5})?\))?",
    re.ASCII,
)
_LEADING = re.compile(r"-?[0-9]{1,20}", re.ASCII)

#: The attribute for which the drive database selects two numbers of 24 bits (raw24/raw24).
_TWO_OF_24_BITS = "Bad_Blk_Ct_Lat/Erl"

#: The layouts of attribute 9 that `power_on_minutes` can read.
_HOURS_MINUTES = re.compile(r"([0-9]{1,10})h\+([0-9]{2})m", re.ASCII)


class PowerOn(NamedTuple):
    """The power-on time in attribute 9. minutes: the part of an hour; None if unknown."""

    hours: int
    minutes: int | None


def raw_value(text: str, name: str = "") -> int | None:
    """Returns the raw value of an attribute. None if the text has none of the known formats.

    name: the name of the attribute, if it is known.
    """
    if text.isdecimal() and text.isascii() and len(text) <= 20:
        number = int(text)
        return number if number <= _MAX_RAW else None
    if len(text) > _MAX_CHARACTERS:
        return None
    first = ((_DIVIDED, _packed(_24_BITS)),) if name == _TWO_OF_24_BITS else ()
    for pattern, combine in (*first, *_FORMATS):
        match = pattern.fullmatch(text)
        if match is not None:
            number_or_none: int | None = combine(*(int(part) for part in match.groups()))
            if number_or_none is not None:
                return number_or_none
    match = re.fullmatch(r"0x([0-9a-f]{1,16})", text, re.IGNORECASE | re.ASCII)
    if match is not None:
        return int(match[1], 16)
    match = _TEMPERATURE.fullmatch(text)
    # A negative temperature is in the lowest byte, which has a sign.
    mask = 0xFF if text.startswith("-") else _MAX_RAW
    return None if match is None else int(match[1]) & mask


def leading_number(text: str) -> int | None:
    """Returns the first number of a raw text, such as -5 in "-5 (Min/Max -9/52)".

    None if the text has none of the known formats.
    """
    match = _LEADING.match(text)
    return None if match is None or raw_value(text) is None else int(match[0])


def power_on_time(text: str) -> PowerOn | None:
    """Returns the power-on time that smartctl reads from the raw text of attribute 9.

    None if the text is not a time, or if the value is too large.
    """
    match = _HOURS_MINUTES.match(text)
    if match is not None and raw_value(text) is not None:
        return PowerOn(int(match[1]), int(match[2]))
    raw = raw_value(text) if re.fullmatch(r"[0-9]+( \([0-9 ]+\))?", text, re.ASCII) else None
    # smartctl ignores the bits above 32, which may be milliseconds, and a value of more than 24.
    hours = None if raw is None else raw % _32_BITS
    return PowerOn(hours, None) if hours is not None and hours < _24_BITS else None


def _packed(base: int) -> Callable[..., int | None]:
    """Returns a function that combines numbers, the highest first. None if one is too large."""

    def combine(*parts: int) -> int | None:
        if any(part >= base for part in parts):
            return None
        number = 0
        for part in parts:
            number = number * base + part
        return number

    return combine


def _word_and_words(low: int, high: int, middle: int) -> int | None:
    return _packed(_WORD)(high, middle, low)


def _word_and_average(low: int, average: int) -> int | None:
    return _packed(_WORD)(average, low)


def _24_bits_and_bytes(low: int, *high: int) -> int | None:
    top = _packed(_BYTE)(*high)
    return None if top is None or low >= _24_BITS else top * _24_BITS + low


def _byte_and_bytes(low: int, *high: int) -> int | None:
    return _packed(_BYTE)(*high, low)


def _divided(first: int, second: int) -> int | None:
    """Returns the value of "first/second": None if the format of the first number is unknown."""
    if first == 0:
        return second
    return first * _32_BITS + second if _24_BITS <= second < _32_BITS else None


def _minutes(hours: int, minutes: int) -> int:
    return hours * 60 + minutes


def _minutes_and_word(hours: int, minutes: int, high: int) -> int | None:
    low = _minutes(hours, minutes)
    return None if low >= _32_BITS or high >= _WORD else high * _32_BITS + low


def _seconds(hours: int, minutes: int, seconds: int) -> int:
    return hours * 3600 + minutes * 60 + seconds


def _hours_and_milliseconds(hours: int, minutes: int, seconds: int, thousandths: int) -> int | None:
    milliseconds = (minutes * 60 + seconds) * 1000 + thousandths
    return milliseconds * _32_BITS + hours if hours < _32_BITS else None


def _tenths(whole: int, tenth: int) -> int:
    return whole * 10 + tenth


def _pattern(text: str) -> re.Pattern[str]:
    """Returns a regular expression in which "#" stands for a number of up to 15 digits."""
    return re.compile(text.replace("#", r"([0-9]{1,15})"), re.ASCII)


_DIVIDED = _pattern(r"#/#")
_FORMATS: tuple[tuple[re.Pattern[str], Callable[..., int | None]], ...] = (
    (_pattern(r"# # #"), _packed(_WORD)),
    (_pattern(r"# # # # # #"), _packed(_BYTE)),
    (_pattern(r"# \(# #\)"), _word_and_words),
    (_pattern(r"# \(Average #\)"), _word_and_average),
    (_pattern(r"# \(# # #\)"), _24_bits_and_bytes),
    (_pattern(r"# \(# # # # #\)"), _byte_and_bytes),
    (_DIVIDED, _divided),
    (_pattern(r"#h\+#m"), _minutes),
    (_pattern(r"#h\+#m \(#\)"), _minutes_and_word),
    (_pattern(r"#h\+#m\+#s"), _seconds),
    (_pattern(r"#h\+#m\+#\.#s"), _hours_and_milliseconds),
    (re.compile(r"([0-9]{1,4})\.([0-9])", re.ASCII), _tenths),
)
