"""Why a drive reports a failure: the bits, attributes and codes, explained by the other values."""

import dataclasses
from typing import Any

import pytest

from exporter.drives.assessment.failure_cause import (
    FailureCause,
    failure_cause,
    is_wear,
    predicts_failure,
    worn_out_text,
)
from exporter.drives.health import (
    AtaAttribute,
    DriveHealth,
    Endurance,
    EnduranceSource,
    SelfTest,
)
from exporter.drives.smart_report import parse_report
from tests.drives.reports import ata, nvme, scsi, with_value

FAILING, WORN_OUT = FailureCause.FAILING, FailureCause.WORN_OUT
TEMPERATURE, NO_FAILURE = FailureCause.TEMPERATURE, FailureCause.NO_FAILURE

LOG = "nvme_smart_health_information_log"

#: A log without errors of a drive that is worn out and reports degraded reliability.
WORN = {
    "critical_warning": 4,
    "percentage_used": 100,
    "available_spare": 100,
    "available_spare_threshold": 10,
    "media_errors": 0,
    "temperature": 38,
}


def of_log(**fields: Any) -> FailureCause | None:
    """The cause for an NVMe log with these fields."""
    report = with_value(nvme(), (LOG,), {**nvme()[LOG], **WORN, **fields})
    failed = bool({**WORN, **fields}["critical_warning"])
    return failure_cause(
        parse_report(with_value(report, ("smart_status", "passed"), not failed)).health
    )


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({}, WORN_OUT),
        ({"percentage_used": 255}, WORN_OUT),
        ({"percentage_used": 130, "available_spare": 96}, WORN_OUT),
        ({"critical_warning": 0}, None),
        # Dead: nothing else explains the bit.
        ({"percentage_used": 0}, FAILING),
        ({"percentage_used": 99}, FAILING),
        # Wear does not explain these.
        ({"media_errors": 1}, FAILING),
        ({"media_errors": None}, FAILING),
        ({"available_spare": 40}, FAILING),
        ({"available_spare": 10}, FAILING),
        ({"available_spare": None}, FAILING),
        # Other bits are not explained by wear.
        ({"critical_warning": 1, "available_spare": 5}, FAILING),
        ({"critical_warning": 1}, FAILING),
        ({"critical_warning": 8}, FAILING),
        ({"critical_warning": 4 | 8}, FAILING),
        ({"critical_warning": 16}, FAILING),
        ({"critical_warning": 2}, TEMPERATURE),
        ({"critical_warning": 2 | 32 | 64}, TEMPERATURE),
        ({"critical_warning": 2 | 4}, WORN_OUT),
        ({"critical_warning": 32}, NO_FAILURE),
        ({"critical_warning": 64}, NO_FAILURE),
        ({"critical_warning": 128}, NO_FAILURE),
        ({"critical_warning": 32 | 64 | 128}, NO_FAILURE),
        ({"critical_warning": 32 | 4}, WORN_OUT),
        ({"critical_warning": 32 | 4, "percentage_used": 3}, FAILING),
        ({"critical_warning": 64 | 1}, FAILING),
    ],
)
def test_the_cause_of_an_nvme_warning(fields: dict[str, Any], cause: FailureCause | None) -> None:
    assert cause is of_log(**fields)


def test_a_failed_self_test_is_not_explained_by_wear() -> None:
    health = parse_report(with_value(nvme(), (LOG,), {**nvme()[LOG], **WORN})).health
    health = dataclasses.replace(health, healthy=False, self_test=SelfTest(passed=False))
    assert FAILING is failure_cause(health)


def failed(name: str, *, number: int = 177, prefailure: bool = True) -> AtaAttribute:
    return AtaAttribute(number, name, 0, failed="now", prefailure=prefailure)


def of_attributes(*rows: AtaAttribute, used: float | None = None, **fields: Any) -> DriveHealth:
    """The health of a SATA drive that reports a failure, and whose attributes failed."""
    worn = None if used is None else Endurance(used, EnduranceSource.ATA_DEVSTAT)
    return DriveHealth(healthy=False, attributes=rows, endurance=worn, **fields)


@pytest.mark.parametrize(
    ("health", "cause"),
    [
        (of_attributes(failed("Wear_Leveling_Count")), WORN_OUT),
        (of_attributes(failed("Media_Wearout_Indicator"), used=0.99), WORN_OUT),
        (of_attributes(failed("SSD_Life_Left"), used=1.2, media_errors=0), WORN_OUT),
        (of_attributes(failed("Percent_Lifetime_Remain", prefailure=False)), WORN_OUT),
        (of_attributes(failed("SSD_Life_Left"), failed("Temperature_Celsius")), WORN_OUT),
        (
            of_attributes(
                failed("SSD_Life_Left"), failed("Unknown_Attribute", number=238, prefailure=False)
            ),
            WORN_OUT,
        ),
        (of_attributes(failed("SSD_Life_Left"), failed("Unknown_Attribute", number=9)), FAILING),
        (of_attributes(failed("Unknown_Attribute", prefailure=False)), FAILING),
        (of_attributes(failed("Temperature_Celsius")), TEMPERATURE),
        (of_attributes(failed("Airflow_Temperature_Cel")), TEMPERATURE),
        # Not explained by wear.
        (of_attributes(), FAILING),
        (of_attributes(failed("Reallocated_Sector_Ct")), FAILING),
        (of_attributes(failed("Erase_Fail_Count")), FAILING),
        (of_attributes(failed("Available_Reservd_Space")), FAILING),
        (of_attributes(failed("Wear_Leveling_Count"), failed("Program_Fail_Count")), FAILING),
        (of_attributes(failed("Wear_Leveling_Count"), used=0.2), FAILING),
        (of_attributes(failed("Wear_Leveling_Count"), media_errors=4), FAILING),
        (of_attributes(failed("Wear_Leveling_Count"), pending_sectors=4), FAILING),
        (of_attributes(failed("Wear_Leveling_Count"), spare_ratio=0.1), FAILING),
        (of_attributes(failed("Wear_Leveling_Count"), plp_healthy=False), FAILING),
    ],
)
def test_the_cause_of_a_failed_status_of_a_sata_drive(
    health: DriveHealth, cause: FailureCause
) -> None:
    assert cause is failure_cause(health)


def test_an_attribute_that_failed_in_the_past_explains_nothing() -> None:
    row = dataclasses.replace(failed("Temperature_Celsius"), failed="past")
    assert FAILING is failure_cause(of_attributes(row))


@pytest.mark.parametrize(
    ("asc", "ascq", "cause"),
    [
        (0x5D, 0x00, FAILING),
        (0x5D, 0x10, FAILING),
        (0x5D, 0x32, FAILING),
        (0x5D, 0x73, WORN_OUT),
        (0x5D, 0xFF, NO_FAILURE),
        (0x0B, 0x01, TEMPERATURE),
        (0x0B, 0x0B, TEMPERATURE),
        (0x0B, 0x02, NO_FAILURE),
        (0x0B, 0x09, NO_FAILURE),
        (0x0B, 0x06, FAILING),
        (0x0B, 0x04, FAILING),
    ],
)
def test_the_cause_of_an_informational_exception(asc: int, ascq: int, cause: FailureCause) -> None:
    status = {"passed": False, "scsi": {"asc": asc, "ascq": ascq, "ie_string": "why"}}
    report = with_value(scsi(), ("smart_status",), status)
    for operation in ("read", "write", "verify"):
        path = ("scsi_error_counter_log", operation, "total_uncorrected_errors")
        report = with_value(report, path, 0)
    assert cause is failure_cause(parse_report(report).health)


def test_an_endurance_limit_with_media_errors_is_a_failure() -> None:
    health = DriveHealth(healthy=False, sense_code=(0x5D, 0x73), media_errors=2)
    assert FAILING is failure_cause(health)


@pytest.mark.parametrize("report", [nvme(), ata(), scsi()])
def test_a_healthy_drive_has_no_cause(report: Any) -> None:
    health = parse_report(report).health
    assert (None, False) == (failure_cause(health), predicts_failure(health))


def test_an_unknown_assessment_predicts_nothing() -> None:
    assert (None, None) == (failure_cause(DriveHealth()), predicts_failure(DriveHealth()))


def test_only_a_failing_drive_predicts_its_failure() -> None:
    worn = of_attributes(failed("SSD_Life_Left"))
    assert (False, True) == (predicts_failure(worn), predicts_failure(of_attributes()))


def test_the_text_of_a_worn_out_drive_has_its_facts() -> None:
    health = parse_report(with_value(nvme(), (LOG,), {**nvme()[LOG], **WORN})).health
    assert (
        "its rated endurance is used up (100 % used): spare 100 %, no media errors"
    ) == worn_out_text(health)
    assert "its rated endurance is used up" == worn_out_text(DriveHealth())


@pytest.mark.parametrize(
    "name",
    [
        *("Wear_Leveling_Count", "Media_Wearout_Indicator", "SSD_Life_Left", "Lifetime_Left"),
        *("Percent_Lifetime_Remain", "Percent_Lifetime_Used", "Remaining_Lifetime_Perc"),
        *("Ave_Block-Erase_Count", "Perc_Rated_Life_Used", "Average_PE_Cycles_TLC"),
        *("Drive_Life_Remaining%", "End_of_Life", "Maximum_Erase_Cycle"),
    ],
)
def test_attributes_of_the_wear_are_recognised(name: str) -> None:
    assert is_wear(AtaAttribute(1, name, 0))


@pytest.mark.parametrize(
    "name",
    [
        *("Erase_Fail_Count", "Available_Reservd_Space", "Perc_Avail_Resrvd_Space"),
        *("Reallocated_Sector_Ct", "Lifetime_Writes_GiB", "Power_Cycle_Count", "Spare_Blocks"),
        *("Temperature_Lifetime_Max", "Load_Cycle_Count", "Wear_Range_Delta"),
    ],
)
def test_other_attributes_are_not_wear(name: str) -> None:
    assert not is_wear(AtaAttribute(1, name, 0))
