"""Pages of real drives, built from published values. No serial number is in any of them.

The offsets are written here a second time, from the sources, so that a wrong offset in a layout is
found.
"""

from collections.abc import Iterable
from typing import NamedTuple

from exporter.drives.nvme_logs.controller import Controller

OCP_SMART_GUID = bytes.fromhex("c5af1028eabff2a49c4f6f7cc914d5af")
OCP_LATENCY_GUID = bytes.fromhex("927ac08cd0846c9c7043e6d4585ed485")

#: offset, size, number
Part = tuple[int, int, int]


def page(parts: Iterable[Part], size: int = 512, fill: int = 0) -> bytes:
    data = bytearray([fill]) * size
    for offset, width, number in parts:
        data[offset : offset + width] = number.to_bytes(width, "little")
    return bytes(data)


def ocp(*parts: Part, version: int = 3, fill: int = 0) -> bytes:
    return page((*parts, (494, 2, version)), 496, fill) + OCP_SMART_GUID


def ocp_latency(*parts: Part, version: int = 4, status: int = 7) -> bytes:
    """Factory defaults: thresholds of 30, 100, 155 and 235 ms, a window of a week."""
    defaults: tuple[Part, ...] = (
        *((0, 1, status), (2, 2, 3), (4, 2, 0x7E0), (6, 1, 5), (7, 1, 0x13), (8, 1, 0x1E)),
        *((9, 1, 0x2E), (10, 2, 0xFFF), (12, 1, 10), (494, 2, version)),
    )
    no_times = tuple((start + 8 * n, 8, (1 << 64) - 1) for start in (96, 304) for n in range(12))
    return page((*no_times, *defaults, *parts), 496) + OCP_LATENCY_GUID


def slow_reads(count: int, age_minutes: int) -> bytes:
    """A latency monitor that has counted reads of 30 ms or longer since the begin of its window."""
    return ocp_latency((2, 2, age_minutes // 5), (44, 4, count))


def item(identifier: int, raw: int, normalised: int = 100, size: int = 12) -> bytes:
    """An item of page CAh of Intel: identifier, normalised value, raw value of six bytes."""
    data = bytes([identifier, 0, 0, normalised, 0]) + raw.to_bytes(6, "little")
    return data.ljust(size, b"\0")


def items(*each: bytes, size: int = 512) -> bytes:
    return b"".join(each).ljust(size, b"\0")


def packed(*numbers: int) -> int:
    """Minimum, maximum and average in a raw value."""
    return sum(number << 16 * place for place, number in enumerate(numbers))


INTEL = Controller(0x8086, model="INTEL SSDPE2KX010T8", firmware="VDV10184", nvme_version=(1, 2))
SOLIDIGM = Controller(0x025E, model="SOLIDIGM SSDPF2KX038T1")
MEMBLAZE = Controller(0x1C5F, model="P6536CH0384M00")
MEMBLAZE_OLD = Controller(0x1C5F, model="P5516DS0384T00")
DAPUSTOR = Controller(0x1E3B, model="DPHV5104T0TA03T2000")
SCALEFLUX = Controller(0xCC53, model="CSD-3310")
TOSHIBA = Controller(0x1179, model="KXD51LN11T92 TOSHIBA")
SEAGATE = Controller(0x1BB1, model="XM1441-1AB112048")
MICRON_7300 = Controller(0x1344, model="Micron_7300_MTFDHBE960TDF")
MICRON_7450 = Controller(0x1344, model="Micron_7450_MTFDKCC960TFR")
KIOXIA = Controller(0x1E0F, model="KIOXIA KCD8XRUG1T92", firmware="0105", nvme_version=(1, 4))
SAMSUNG = Controller(0x144D, model="SAMSUNG MZQL21T9HCJR-00A07", firmware="GDC5902Q")
WDC_SN640 = Controller(0x1B96, model="WUS4BB019D4M9E7", firmware="R9109005")
WDC_SN840 = Controller(0x1B96, model="WUS4BA138DSP3X1")


class RealPage(NamedTuple):
    """A page of a real drive.

    source: where its content or its values were published.
    expected: some of the values that the source states, by field.
    """

    source: str
    page: int
    data: bytes
    controller: Controller
    expected: dict[str, int | float]


_RISTIR = "ristir/nvme-logpage-exporter, testdata/dumps"
_CACHELIB = "facebook/CacheLib, cachelib/cachebench/util/tests/NandWritesTest.cpp"

REAL_PAGES = (
    RealPage(
        f"{_RISTIR}/kioxia-kcd8/nvme0",
        0xC0,
        ocp(
            *((0, 16, 656577089470464), (16, 16, 827862865477632), (38, 2, 100)),
            *((40, 8, (1 << 64) - 1), (64, 8, 426), (81, 7, 3563200), (88, 4, 302), (92, 4, 1)),
            *((120, 1, 100), (128, 2, 219), (136, 8, 114116), (160, 16, 2), (176, 16, 18607325)),
        ),
        KIOXIA,
        {
            "nand_written_bytes": 656577089470464,
            "bad_blocks": 0,
            "bad_blocks_spare_percent": 100,
            "soft_ecc_errors": 426,
            "refreshed_blocks": 3563200,
            "erase_count_max": 302,
            "erase_count_min": 1,
            "capacitor_health_percent": 219,
            "unaligned_writes": 114116,
            "plp_starts": 2,
            "endurance_estimate_bytes": 18607325 * 10**9,
        },
    ),
    RealPage(
        f"{_RISTIR}/samsung-datacenter/nvme0",
        0xC0,
        ocp(
            *((0, 16, 195459011571712), (16, 16, 178526133420032), (38, 2, 100), (46, 2, 100)),
            *((64, 8, 10), (81, 7, 4), (88, 4, 244), (92, 4, 63), (120, 1, 4), (128, 2, 160)),
            *((136, 8, 72185), (160, 16, 7), (176, 16, 14431091)),
            version=2,
        ),
        SAMSUNG,
        {
            "nand_written_bytes": 195459011571712,
            "bad_user_blocks": 0,
            "bad_system_blocks_spare_percent": 100,
            "free_blocks_percent": 4,
            "capacitor_health_percent": 160,
            "endurance_estimate_bytes": 14431091 * 10**9,
        },
    ),
    RealPage(
        f"{_CACHELIB}, WUS4BB019D4M9E7",
        0xC0,
        ocp(
            *((0, 16, 609651339018240), (16, 16, 567611790770176), (38, 2, 100), (46, 2, 100)),
            *((81, 7, 4), (88, 4, 293), (92, 4, 197), (120, 1, 1), (128, 2, 114), (160, 16, 42)),
            (176, 16, 16896000000000000),
            version=2,
        ),
        WDC_SN640,
        {
            "nand_written_bytes": 609651339018240,
            "nand_read_bytes": 567611790770176,
            "erase_count_max": 293,
            "erase_count_min": 197,
            "capacitor_health_percent": 114,
            "plp_starts": 42,
            "endurance_estimate_bytes": 16896000000000000,
        },
    ),
    RealPage(
        f"{_CACHELIB}, INTEL SSDPEDME016T4F",
        0xCA,
        items(
            item(0xAB, 0),
            item(0xAC, 0),
            item(0xAD, packed(3523, 3603, 3562), 70),
            item(0xB8, 0),
            item(0xC7, 0),
            item(0xE2, 65535),
            item(0xE3, 65535),
            item(0xE4, 65535),
            item(0xEA, 0),
            item(0xF0, 0),
            item(0xF3, 0),
            item(0xF4, 224943088),
            item(0xF5, 172365270),
        ),
        INTEL,
        {
            "nand_written_bytes": 7547837550166016,
            "host_written_bytes": 172365270 << 25,
            "erase_count_min": 3523,
            "erase_count_max": 3603,
            "erase_count_average": 3562,
            "program_failures": 0,
            "thermal_throttling_events": 0,
        },
    ),
    RealPage(
        "linux-nvme/nvme-cli issue 245: a drive without byte counters",
        0xCA,
        items(
            item(0xAB, 0),
            item(0xAC, 0),
            item(0xAD, packed(1, 6, 3)),
            item(0xB8, 0),
            item(0xC7, 85385),
            item(0xEA, 0),
        ),
        INTEL,
        {"erase_count_max": 6, "erase_count_average": 3, "link_crc_errors": 85385},
    ),
    RealPage(
        f"{_CACHELIB}, KXD51LN11T92",
        0xCA,
        page(
            (
                *((0, 16, 1217620007190528), (32, 2, 100), (64, 1, 8), (65, 4, 570)),
                *((69, 4, 470), (73, 8, 26), (81, 2, 100), (89, 2, 100), (97, 2, 100)),
                (119, 1, 13),
            )
        ),
        TOSHIBA,
        {
            "nand_written_bytes": 1217620007190528,
            "bad_blocks": 0,
            "bad_blocks_spare_percent": 100,
            "system_area_used_percent": 8,
            "erase_count_max": 570,
            "erase_count_min": 470,
            "refreshed_blocks": 26,
            "free_blocks_percent": 13,
        },
    ),
    RealPage(
        f"{_CACHELIB}, XM1441-1AB112048",
        0xC4,
        page(
            (
                (0, 2, 2),
                *(
                    part
                    for number, (identifier, raw) in enumerate(
                        (
                            *((40, 0), (188, 0), (1, 0), (41, 0), (173, 0x45)),
                            *((42, 0x00000B4800000A0C), (43, 0), (171, 0x0064000000000000)),
                            *((44, 0x0064000000000000), (45, 0x0064000000000000), (46, 0), (47, 0)),
                            *((48, 0xC47), (49, 0), (170, 0xF29), (177, 3), (194, 0x148)),
                            *((253, 0x161), (231, 0x43), (13, 0), (100, 0x2D3D1E408)),
                            *((233, 0x2D0CDC01B), (241, 0xEFB8D568), (243, 0x1C728E70C)),
                        )
                    )
                    for part in ((2 + 12 * number, 1, identifier), (6 + 12 * number, 8, raw))
                ),
            )
        ),
        SEAGATE,
        {
            "nand_written_bytes": 6191656744448000,
            "nand_written_unit_bytes": 512000,
            "host_written_bytes": 0xEFB8D568 * 512000,
            "erase_count_min": 2572,
            "erase_count_max": 2888,
            "program_failures": 0,
            "pcie_uncorrectable_errors": 3143,
        },
    ),
    RealPage(
        f"{_RISTIR}/micron-3400/nvme0",
        0x09,
        page(((3, 1, 100), (4, 1, 5), (5, 1, 210), (48, 16, 0x152F0), (64, 16, 0x94C09))),
        Controller(0x1344, model="Micron_3400_MTFDKBA512TFH"),
        {
            "group_used_ratio": 2.1,
            "group_spare_ratio": 1.0,
            "group_host_written_bytes": 609289 * 10**9,
            "group_media_errors": 0,
        },
    ),
)

#: Pages C0h of real drives that are not those of OCP: the first bytes and the drive.
OTHER_PAGES = (
    (f"{_RISTIR}/intel-p4510/nvme0", "01", INTEL),
    (
        f"{_RISTIR}/samsung-saturated/nvme0",
        "01000533006464000000000000000932",
        Controller(0x144D, model="SAMSUNG MZVLB512HAJQ-00000"),
    ),
)
