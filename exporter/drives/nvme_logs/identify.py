"""Parses what Identify Controller says about an NVMe drive and its log pages.

Source: NVM Express Base Specification 2.0, figure 275.
"""

from typing import NamedTuple

from exporter.drives.nvme_logs.controller import Controller

#: The part of the structure that is read, in bytes.
_SIZE_BYTES = 328
#: The bit of CTRATT that means that the drive has endurance groups, and the bit of HCTMA that means
#: that a host can set the limits of its thermal management.
_ENDURANCE_GROUPS, _THERMAL_MANAGEMENT = 1 << 4, 1 << 0


class Identified(NamedTuple):
    """The parts of Identify Controller that are used.

    controller: the identity.
    endurance_groups: True if the drive has endurance groups.
    thermal_management: True if the drive has a host-controlled thermal management.
    """

    controller: Controller
    endurance_groups: bool
    thermal_management: bool


def parse_identify(data: bytes) -> Identified | None:
    """Returns the answer of a drive to Identify Controller; None if it is too short or empty."""
    if len(data) < _SIZE_BYTES or not any(data[:_SIZE_BYTES]):
        return None
    version = _number(data, 80, 4)
    return Identified(
        Controller(
            _number(data, 0, 2),
            _number(data, 2, 2),
            _text(data[24:64]),
            _text(data[64:72]),
            (version >> 16, version >> 8 & 0xFF) if version else None,
        ),
        bool(_number(data, 96, 4) & _ENDURANCE_GROUPS),
        bool(_number(data, 322, 2) & _THERMAL_MANAGEMENT),
    )


def _number(data: bytes, offset: int, size: int) -> int:
    # The agent would load the module struct for this alone.
    return int.from_bytes(data[offset : offset + size], "little")


def _text(field: bytes) -> str:
    return field.decode("ascii", "replace").strip(" \0")
