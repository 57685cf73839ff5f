"""Tests of deriving the polling plan from the settings."""

from dataclasses import fields, replace

from exporter.config.settings import DeviceSettings, Paths, Settings, SmartDrive, SmartSettings
from exporter.smart import polling_plan
from exporter.smart.discovery import Override
from exporter.smart.polling.poller import PollingPlan


def test_the_defaults_are_the_same_in_both() -> None:
    assert PollingPlan() == polling_plan.of(Settings())


def test_every_setting_of_the_same_name_is_passed_on() -> None:
    """Another value than the default's in each of them."""
    smart = SmartSettings(
        nvme_interval_seconds=11.0,
        interval_seconds=12.0,
        timeout_seconds=13.0,
        processes=14,
        processes_per_adapter=15,
        rescan_seconds=16.0,
        include="a",
        exclude="b",
        drive=(SmartDrive("/dev/sda", "megaraid,0-3"), SmartDrive("/dev/sg4", "sat")),
    )
    settings = replace(Settings(), smart=smart, path=Paths(smartctl="/opt/smartctl"))
    plan = polling_plan.of(settings)
    expected = (("/dev/sda", "megaraid,0-3"), ("/dev/sg4", "sat"))
    assert ("/opt/smartctl", expected) == (plan.program, plan.drives)
    same = {each.name for each in fields(PollingPlan)} & {each.name for each in fields(smart)}
    assert 8 == len(same)
    assert {name: getattr(smart, name) for name in same} == {
        name: getattr(plan, name) for name in same
    }


def test_log_pages_have_one_setting_and_other_processes_do_not_read_them() -> None:
    smart = SmartSettings(nvme_log_interval_seconds=30.0)
    settings = replace(Settings(), smart=smart)
    assert 30.0 == polling_plan.of(settings).log_interval_seconds
    assert 0.0 == polling_plan.shared(settings)[0].log_interval_seconds
    off = replace(settings, smart=replace(smart, nvme_logs=False))
    assert 0.0 == polling_plan.of(off).log_interval_seconds


def test_a_device_may_have_its_own_settings_and_may_be_excluded() -> None:
    devices = {
        "sda": DeviceSettings(
            smart_type="sat", smart_interval_seconds=30.0, smart_timeout_seconds=5.0
        ),
        "sdb": DeviceSettings(smart_type="off"),
        "nvme0n1": DeviceSettings(rated_bytes_written=6e14),
    }
    expected = {
        "sda": Override(type="sat", interval_seconds=30.0, timeout_seconds=5.0),
        "sdb": Override(off=True),
        "nvme0n1": Override(),
    }
    assert expected == polling_plan.of(replace(Settings(), device=devices)).overrides
