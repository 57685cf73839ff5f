"""Defines the values that NVMe log pages beyond smartctl's report contain, and combines them."""

from collections.abc import Iterable
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class NvmeLogValues:
    """Values of the log pages of one NVMe drive. None means that the drive does not report it.

    A count covers the life of the drive, unless stated otherwise. "OCP" is page C0h of the OCP
    Datacenter NVMe SSD Specification. The vendors' pages are listed in docs/nvme-logs.md.

    nand_written_bytes: bytes written to the flash, of host data and of the drive's own (OCP and
        all vendors except Micron's page D0h before the 7400).
    nand_written_unit_bytes: the unit in which the drive counts `nand_written_bytes`, in bytes.
    nand_read_bytes: bytes read from the flash (OCP, Samsung, Toshiba, Western Digital, Seagate).
    host_written_bytes: bytes that hosts have written, counted in the page of
        `nand_written_bytes` (Intel, Solidigm, Memblaze, DapuStor, Kioxia, Seagate).
    host_written_unit_bytes: the unit in which the drive counts `host_written_bytes`, in bytes.
    bad_blocks: retired flash blocks of a drive that does not distinguish user and system blocks.
    bad_blocks_spare_percent: its remaining spare blocks in percent, 100 for a new drive.
    bad_user_blocks, bad_system_blocks: retired flash blocks of the user area and of the area of
        the firmware and its tables (OCP).
    bad_user_blocks_spare_percent, bad_system_blocks_spare_percent: the remaining spare blocks of
        the area in percent, 100 for a new drive (OCP).
    program_failures: failed program operations of the flash, of the user area or of the whole
        drive.
    erase_failures: failed erase operations of the flash, of the user area or of the whole drive.
    system_program_failures, system_erase_failures: the same of the system area (OCP 2.6; Samsung,
        Toshiba, Western Digital and Seagate report erase failures only).
    uncorrectable_reads: flash reads that neither retries nor ECC nor XOR could correct.
    system_uncorrectable_reads: the same of the system area (OCP 2.6).
    xor_recoveries: reads for which the drive computed data from the other dies (OCP: attempts,
        successful or not).
    soft_ecc_errors: flash reads that the first level of ECC could not correct.
    end_to_end_detected_errors: errors within the drive, such as in its DRAM, that the end-to-end
        protection detected; corrected ones included (OCP, all vendors).
    end_to_end_corrected_errors: those of them that were corrected.
    refreshed_blocks: flash blocks that were rewritten to keep their data readable (OCP: without
        garbage collection and wear levelling).
    erase_count_min, erase_count_max, erase_count_average: erase cycles of a flash block of the
        user area. The average is of all blocks in OCP 2.6.
    system_area_used_percent: used endurance of the system area; 100 means used up. At most 255.
    thermal_throttling_level: current throttling: 0 none, 1 to 3 the level. 1 is also that of a
        drive that reports only whether it throttles.
    thermal_throttling_percent: current throttling as a percentage; 0 means none (Intel, Solidigm).
    thermal_throttling_events: times that throttling began. It stays at 255 on OCP drives, which
        have one byte for it.
    thermal_management_1_transitions, thermal_management_2_transitions: times that the temperature
        of the host-controlled thermal management (HCTM) made the drive throttle, lightly (TMT1) or
        heavily (TMT2) (page 02h). 0 also from a drive without HCTM.
    thermal_management_1_seconds, thermal_management_2_seconds: time in these states (page 02h).
    pcie_correctable_errors: correctable errors of the PCIe link at run time (OCP, vendors).
    pcie_uncorrectable_errors: uncorrectable errors of the PCIe link (Seagate).
    pcie_link_retrainings: retrainings of the PCIe link at run time (OCP 2.0).
    link_crc_errors: CRC errors of the PCIe link (Intel and the vendors with its page).
    incomplete_shutdowns: shutdowns that did not write all data to the flash (OCP, vendors).
    unexpected_power_losses: times that the power failed (Solidigm).
    unaligned_writes: writes that do not begin at a multiple of the drive's indirection unit, since
        power-on (OCP).
    capacitor_health_percent: hold-up energy of the capacitor: above 100 when new, 1 is the least
        with which a shutdown is safe (OCP). Another scale than `plp_normalized`.
    plp_starts: times that the power-loss protection had to act (OCP).
    plp_normalized: normalised health of the power-loss protection, 100 when new (Memblaze,
        DapuStor).
    free_blocks_percent: erased flash blocks, as a percentage of the blocks that hold no data.
        It is near 0 on drives that erase blocks late, so a low value is no fault.
    endurance_estimate_bytes: bytes that a host can write over the life of the drive, at a write
        amplification of 1 (OCP, page 09h).
    media_dies, media_dies_offline: flash dies, and those of them that were retired (OCP 2.6).
    die_failure_tolerance: flash dies that may fail while the drive continues to work (OCP 2.6).
    proactive_die_retirements: dies that were retired because the drive expected a failure (OCP
        2.7).
    command_timeouts: commands with limited retry that took too long (OCP 2.6).
    power_state_changes: changes of the NVMe power state at run time (OCP 2.0).
    temperature_max_celsius: highest temperature over the life of the drive (OCP 2.6, vendors).
    compression_ratio: host data divided by the flash that it takes, of the data that is stored
        now (ScaleFlux).
    physical_capacity_bytes, physical_free_bytes: flash that can be used for host data, and what is
        free of it (ScaleFlux).
    group_media_written_bytes: bytes written to the flash of endurance group 1 (page 09h).
    group_host_written_bytes: bytes that hosts have written to endurance group 1 (page 09h).
    group_used_ratio: used endurance of endurance group 1; 1 means used up (page 09h).
    group_spare_ratio: remaining spare of endurance group 1 (page 09h).
    group_media_errors: unrecovered data integrity errors of endurance group 1 (page 09h).
    """

    nand_written_bytes: int | None = None
    nand_written_unit_bytes: int | None = None
    nand_read_bytes: int | None = None
    host_written_bytes: int | None = None
    host_written_unit_bytes: int | None = None
    bad_blocks: int | None = None
    bad_blocks_spare_percent: int | None = None
    bad_user_blocks: int | None = None
    bad_user_blocks_spare_percent: int | None = None
    bad_system_blocks: int | None = None
    bad_system_blocks_spare_percent: int | None = None
    program_failures: int | None = None
    erase_failures: int | None = None
    system_program_failures: int | None = None
    system_erase_failures: int | None = None
    uncorrectable_reads: int | None = None
    system_uncorrectable_reads: int | None = None
    xor_recoveries: int | None = None
    soft_ecc_errors: int | None = None
    end_to_end_detected_errors: int | None = None
    end_to_end_corrected_errors: int | None = None
    refreshed_blocks: int | None = None
    erase_count_min: int | None = None
    erase_count_max: int | None = None
    erase_count_average: int | None = None
    system_area_used_percent: int | None = None
    thermal_throttling_level: int | None = None
    thermal_throttling_percent: int | None = None
    thermal_throttling_events: int | None = None
    thermal_management_1_transitions: int | None = None
    thermal_management_2_transitions: int | None = None
    thermal_management_1_seconds: float | None = None
    thermal_management_2_seconds: float | None = None
    pcie_correctable_errors: int | None = None
    pcie_uncorrectable_errors: int | None = None
    pcie_link_retrainings: int | None = None
    link_crc_errors: int | None = None
    incomplete_shutdowns: int | None = None
    unexpected_power_losses: int | None = None
    unaligned_writes: int | None = None
    capacitor_health_percent: int | None = None
    plp_starts: int | None = None
    plp_normalized: int | None = None
    free_blocks_percent: int | None = None
    endurance_estimate_bytes: int | None = None
    media_dies: int | None = None
    media_dies_offline: int | None = None
    die_failure_tolerance: int | None = None
    proactive_die_retirements: int | None = None
    command_timeouts: int | None = None
    power_state_changes: int | None = None
    temperature_max_celsius: float | None = None
    compression_ratio: float | None = None
    physical_capacity_bytes: int | None = None
    physical_free_bytes: int | None = None
    group_media_written_bytes: int | None = None
    group_host_written_bytes: int | None = None
    group_used_ratio: float | None = None
    group_spare_ratio: float | None = None
    group_media_errors: int | None = None


#: The names of all values, in the order of the record.
VALUE_NAMES = tuple(field.name for field in fields(NvmeLogValues))


def combine(values: Iterable[NvmeLogValues]) -> NvmeLogValues:
    """Returns one record with each value from the first record that has it.

    values: the most reliable source first (see `log_document`).
    """
    combined: dict[str, int | float] = {}
    for each in values:
        for name in VALUE_NAMES:
            value = getattr(each, name)
            if value is not None and name not in combined:
                combined[name] = value
    return NvmeLogValues(**combined)  # type: ignore[arg-type]
