"""Messages of smartctl, and the reason why SMART data cannot be read."""

import pytest

from exporter.drives.health import DriveHealth, DriveIdentity
from exporter.drives.smart_report import parse_report
from tests.drives.reports import Report, ata, device, nvme, scsi, smartctl, with_value, without


def unreadable(report: Report) -> str:
    return parse_report(report).health.unreadable


def test_a_successful_run_has_no_messages() -> None:
    health = parse_report(ata()).health
    assert (0, (), "") == (health.exit_status, health.messages, health.unreadable)


@pytest.mark.parametrize("status", [0, 4, 64, 216, 255])
def test_the_exit_status_is_kept(status: int) -> None:
    assert status == parse_report(ata() | smartctl(status=status)).health.exit_status


@pytest.mark.parametrize("status", [-1, 256, "much", None, [4]])
def test_an_invalid_exit_status_is_0(status: object) -> None:
    report = with_value(ata(), ("smartctl", "exit_status"), status)
    assert 0 == parse_report(report).health.exit_status


def test_an_error_message_does_not_hide_health_values() -> None:
    complaint = "Read Device Statistics page 0x00 failed"
    health = parse_report(ata() | smartctl(complaint, status=4)).health
    assert ((complaint,), "", {"drive": 33.0}) == (
        health.messages,
        health.unreadable,
        health.temperatures,
    )


def test_messages_are_unique_and_limited() -> None:
    assert ("a",) == parse_report(smartctl("a", "a", "a")).health.messages
    assert 20 == len(parse_report(smartctl(*(f"message {n}" for n in range(500)))).health.messages)


def test_the_warning_of_the_drive_database_is_read_from_the_text_output() -> None:
    """No version prints it in a JSON field; `--json=o` adds the text output."""
    report = ata()
    report["smartctl"]["output"] = [
        "Local Time is:    today",
        "",
        "==> WARNING: A firmware update for this drive may be available,",
        "see the following web page:",
        "https://example.org/firmware",
        "",
        "SMART support is: Available",
    ]
    warning = (
        "WARNING: A firmware update for this drive may be available, "
        "see the following web page: https://example.org/firmware"
    )
    assert (warning,) == parse_report(report).health.messages


def test_a_warning_may_end_the_text_output() -> None:
    report = with_value(ata(), ("smartctl", "output"), ["==> WARNING: a", "b"])
    assert ("WARNING: a b",) == parse_report(report).health.messages


@pytest.mark.parametrize("output", [None, "==> WARNING: x", 3, {"a": 1}, [None, 3, ["==>"]]])
def test_invalid_text_output_has_no_warning(output: object) -> None:
    assert () == parse_report(with_value(ata(), ("smartctl", "output"), output)).health.messages


@pytest.mark.parametrize(
    ("words", "mode"),
    [
        ("STANDBY", "standby"),
        ("STANDBY_Y", "standby_y"),
        ("SLEEP", "sleep"),
        ("STANDBY BY TIMER", "standby"),
        ("STANDBY_Y BY COMMAND", "standby_y"),
        ("LOW POWER", "low_power"),
        ("STANDBY (OS)", "standby"),
    ],
)
@pytest.mark.parametrize("type_", [("sat", "ATA"), ("scsi", "SCSI")])
def test_a_sleeping_drive_has_only_a_power_mode(
    words: str, mode: str, type_: tuple[str, str]
) -> None:
    """With `-n standby,3` the exit status is not a bit field."""
    report = smartctl(f"Device is in {words} mode, exit(3)", status=3, severity="information")
    report |= device(*type_)
    assert DriveHealth(power_mode=mode) == parse_report(report).health


def test_a_sleeping_drive_has_an_identity() -> None:
    report = smartctl("Device is in STANDBY mode, exit(3)", status=3) | device("sat", "ATA")
    report["power_mode"] = {"ata_value": 0, "name": "STANDBY"}
    found = parse_report(report)
    assert (DriveHealth(power_mode="standby"), "ata") == (found.health, found.identity.protocol)


@pytest.mark.parametrize(
    ("printed", "mode"),
    [
        ({"ata_value": 255, "name": "ACTIVE or IDLE"}, "active"),
        ({"ata_value": 129, "name": "IDLE_A"}, "idle_a"),
        ("IDLE", "idle"),
        ("IDLE_ BY COMMAND", "idle"),
        ({"ata_value": 255}, None),
        (None, None),
        ("", None),
        (3, None),
        ([], None),
    ],
)
def test_the_power_mode_of_a_drive_that_was_read(printed: object, mode: str | None) -> None:
    report = parse_report(ata() | {"power_mode": printed})
    assert mode == report.health.power_mode
    assert {"drive": 33.0} == report.health.temperatures


def without_smart(vendor: str, **more: object) -> Report:
    """A SCSI disk with a name but without SMART data."""
    return {
        **smartctl(status=4),
        **device("scsi", "SCSI"),
        "scsi_vendor": vendor,
        "scsi_product": "EXAMPLE SATA SSD",
        "scsi_model_name": f"{vendor} EXAMPLE SATA SSD",
        "serial_number": "EXS480B0002",
        "smart_support": {"available": False},
        "temperature": {"current": 0},
        **more,
    }


def test_a_sata_drive_read_as_plain_scsi_is_detected() -> None:
    """Without CAP_SYS_RAWIO smartctl exits with status 0 and prints no SMART data."""
    words = unreadable(without_smart("ATA"))
    assert "SATA drive that answers as plain SCSI" in words
    assert "CAP_SYS_RAWIO" in words


def test_a_sata_drive_read_as_plain_scsi_is_detected_despite_health_values() -> None:
    assert "plain SCSI" in unreadable(without_smart("ATA", smart_status={"passed": True}))


def test_a_sata_drive_read_as_plain_scsi_is_detected_without_vendor() -> None:
    report = without_smart("ATA")
    for key in ("scsi_vendor", "scsi_product", "scsi_model_name"):
        del report[key]
    assert "CAP_SYS_RAWIO" in unreadable(report)


def test_a_scsi_disk_without_smart_is_unreadable() -> None:
    assert "it does not support SMART" in unreadable(without_smart("QEMU"))


def test_an_ata_drive_without_smart_is_unreadable() -> None:
    report = smartctl(status=4) | device("sat", "ATA") | {"smart_support": {"available": False}}
    assert "the drive reports that it does not support SMART" == unreadable(report)


def test_disabled_smart_has_a_remedy() -> None:
    report = without(ata(), "smart_status", "ata_smart_attributes", "temperature", "power_on_time")
    report["smart_support"]["enabled"] = False
    assert "smartctl -s on" in unreadable(report)


def test_a_scsi_drive_with_disabled_warnings_is_readable() -> None:
    assert "" == unreadable(with_value(scsi(), ("smart_support", "enabled"), value=False))


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("/dev/vda: Unable to detect device type", "a virtual disk has no SMART"),
        (
            "/dev/sdx: Unknown USB bridge [0x152d:0x0562 (0x204)]",
            "USB bridge 0x152d:0x0562 by default: set",
        ),
        ("/dev/sdx: Unsupported USB bridge [0x0411:0x0157 (0x100)]", "0x0411:0x0157 does not pass"),
        (
            "/dev/sda: DELL or MegaRaid controller, please try adding '-d megaraid,N'",
            "with the type megaraid,N",
        ),
        ("AMCC/3ware controller, please try adding '-d 3ware,N',", "with the type 3ware,N"),
        ("/dev/sdx: requires option '-d cciss,N'", "in the configuration: cciss,N"),
        ("Smartctl open device: /dev/nvme0 failed: Permission denied", "CAP_SYS_ADMIN for NVMe"),
        (
            "Smartctl open device: /dev/sdx [SAT] failed: Operation not permitted",
            "its type is wrong",
        ),
        (
            "Read NVMe Identify Controller failed: scsi error unsupported scsi opcode",
            "does not support the commands",
        ),
        ("/dev/sdx: Unknown device type 'foo'", "smartctl reports: /dev/sdx: Unknown device type"),
    ],
)
def test_known_messages_are_explained(message: str, words: str) -> None:
    assert words in unreadable(smartctl(message, status=2))


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (2, "rejects all other commands"),
        (4, "rejects the commands"),
        (0, "reports no health values"),
    ],
)
def test_a_drive_with_only_an_identity_is_not_healthy(status: int, words: str) -> None:
    """A drive of a RAID volume reports this if it is not read through its controller."""
    report = without_smart("EXAMPLE") | smartctl(status=status)
    del report["smart_support"]
    found = parse_report(report).health
    assert words in found.unreadable
    assert found.healthy is None


def test_a_device_that_cannot_be_opened_is_unreadable() -> None:
    assert "cannot open the device" in unreadable(smartctl(status=2) | device("sat", "ATA"))


def test_temperature_limits_alone_are_not_health_values() -> None:
    report = without(nvme(), "nvme_smart_health_information_log", "smart_status", "power_on_time")
    report["temperature"] = {"op_limit_max": 75}
    assert "no health values" in unreadable(report)


def test_an_empty_report_has_no_reason() -> None:
    assert (DriveIdentity(), DriveHealth()) == (
        parse_report({}).identity,
        parse_report({}).health,
    )
