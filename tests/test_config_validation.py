"""Reading and validating the configuration file."""

import sys
import tracemalloc
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exporter import config_validation
from exporter.config.disk_rules import WriteFalloffRules
from exporter.config.drive_class import DriveClass
from exporter.config.settings import COLLECTORS, DeviceSettings, Settings, SmartDrive, SmartSettings
from exporter.config_validation import parse_record, validated
from exporter.runtime.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read(text: str) -> Settings:
    """Returns the validated settings of a TOML text."""
    return validated(parse_record(Settings, tomllib.loads(text), "", Settings()))


def error_message(text: str) -> str:
    with pytest.raises(ConfigError) as raised:
        read(text)
    return str(raised.value)


def keys(record: Any, where: str = "") -> list[str]:
    """Returns every dotted key of the file."""
    found = []
    for field in fields(record):
        name = f"{where}{field.metadata.get('key', field.name)}"
        value = getattr(record, field.name)
        found += keys(value, f"{name}.") if is_dataclass(value) else [name]
    return found


def test_an_empty_file_is_all_defaults() -> None:
    assert Settings() == read("")


def test_each_section_sets_its_settings() -> None:
    settings = read("""
        [path]
        sysfs = "/proc"
        [web]
        listen_address = ["127.0.0.1:1", ":2"]
        [sampler]
        interval_seconds = 2
        [survey]
        interval_seconds = 60.5
        [disk]
        device_include = "^nvme"
        request_sizes = true
        [cpu]
        per_cpu = true
        [cgroup]
        groups = "system.slice/backup.service"
        [rules.saturation]
        busy_ratio = 0.9
        queue_depth = { nvme = 8 }
        [rules.baseline]
        observations = 30
        [state]
        directory = "/var/tmp/state"
        [log]
        level = "debug"
        format = "json"
        [compat]
        node_exporter = true
        [collector]
        softnet = false
        [device.sda]
        class = "ssd"
        [role]
        mysql-data = ["/var/lib/mysql", "nvme0n1"]
    """)
    assert Path("/proc") == settings.path.sysfs
    assert ("127.0.0.1:1", ":2") == settings.web.listen_address
    assert (2.0, 60.5) == (settings.sampler.interval_seconds, settings.survey.interval_seconds)
    assert ("^nvme", True) == (settings.disk.device_include, settings.disk.request_sizes)
    assert ("system.slice/backup.service",) == settings.cgroup.groups
    assert 0.9 == settings.rules.saturation.busy_ratio
    assert {"nvme": 8.0, "ssd": 2.0, "rotational": 2.0} == {
        kind.value: depth for kind, depth in settings.rules.saturation.queue_depth.items()
    }
    assert (30, 50) == (settings.rules.baseline.observations, settings.rules.baseline.operations)
    assert Path("/var/tmp/state") == settings.state.directory
    assert ("debug", "json") == (settings.log.level, settings.log.format)
    assert settings.compat.node_exporter
    assert dict(COLLECTORS) | {"softnet": False} == settings.collector
    assert DriveClass.SSD is settings.device["sda"].class_
    assert {"mysql-data": ("/var/lib/mysql", "nvme0n1")} == settings.role


def test_a_setting_of_an_earlier_version_has_no_effect() -> None:
    settings = read("[rules.write_falloff]\nawait_factor = 2\nlasting_seconds = 20")
    assert WriteFalloffRules(lasting_seconds=20) == settings.rules.write_falloff


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[sampler]\ninterval = 1", "unknown key sampler.interval; did you mean interval_seconds?"),
        ("[samplr]\n", "unknown key samplr; did you mean sampler?"),
        ("[rules.saturation]\nbusy_rate = 1", "unknown key rules.saturation.busy_rate; did you "),
        ("[log]\nxyz = 1", "unknown key log.xyz; known keys are format, level"),
        ("[collector]\ndiscs = true", "unknown key collector.discs; collectors are cpu, softirqs"),
        ("[device.sda]\nclas = 'ssd'", "unknown key device.sda.clas; did you mean class?"),
    ],
)
def test_an_unknown_key_is_rejected_with_a_suggestion(text: str, expected: str) -> None:
    assert error_message(text).startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sampler = 1", "sampler is 1; it must be a table"),
        ("[sampler]\ninterval_seconds = '1'", "sampler.interval_seconds is '1'; it must be a num"),
        ("[sampler]\ninterval_seconds = true", "sampler.interval_seconds is True; it must be a n"),
        ("[cpu]\nper_cpu = 1", "cpu.per_cpu is 1; it must be true or false"),
        ("[log]\nlevel = 3", "log.level is 3; it must be a string in quotes"),
        ("[web]\nlisten_address = 5", "web.listen_address is 5; it must be a list"),
        (
            "[web]\nlisten_address = [5]",
            "web.listen_address[0] is 5; it must be a string in quotes",
        ),
        ("[state]\ndirectory = ''", "state.directory is ''; it must be a path in quotes"),
        ("[rules.baseline]\nmemory = 1.5", "rules.baseline.memory is 1.5; it must be an integer"),
        ("[device.sda]\nclass = 'hdd'", "device.sda.class is 'hdd'; it must be one of nvme, ssd"),
        (
            "[rules.saturation.queue_depth]\nsas = 1",
            "rules.saturation.queue_depth is 'sas'; it must be one of nvme, ssd, rotational",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_rejected_with_its_full_key(text: str, expected: str) -> None:
    assert error_message(text).startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[sampler]\ninterval_seconds = 0.05", "sampler.interval_seconds is 0.05; it must be bet"),
        ("[sampler]\ninterval_seconds = nan", "sampler.interval_seconds is nan; it must be betw"),
        ("[survey]\ninterval_seconds = inf", "survey.interval_seconds is inf; it must be between"),
        ("[log]\nlevel = 'loud'", "log.level is 'loud'; it must be one of debug, info, warning"),
        ("[log]\nformat = 'xml'", "log.format is 'xml'; it must be one of logfmt, json"),
        (
            "[path]\nprocfs = '/nonexistent'",
            "path.procfs is /nonexistent, which is not a directory",
        ),
        ("[web]\nlisten_address = []", "web.listen_address is empty; set at least one address"),
        ("[web]\nlisten_address = 'x'", "x"),
        ("[disk]\ndevice_include = '('", "disk.device_include is '(', which is not a regular expr"),
        ("[disk]\ndevice_exclude = '['", "disk.device_exclude is '[', which is not a regular expr"),
        (
            "[disk]\ndevice_include = 'a'\ndevice_exclude = 'b'",
            "disk.device_include and disk.device_exclude are both set; set one of them",
        ),
        ("[rules.saturation]\nbusy_ratio = 95", "rules.saturation.busy_ratio is 95; it must be b"),
        ("[rules.saturation]\nawait_factor = 0.5", "rules.saturation.await_factor is 0.5; it mus"),
        (
            "[rules.write_falloff]\nfalloff_ratio = 1",
            "rules.write_falloff.falloff_ratio is 1; it m",
        ),
        ("[rules.write_falloff]\nother_share = 30", "rules.write_falloff.other_share is 30; it mu"),
        ("[rules.write_falloff]\nlasting_seconds = 0", "rules.write_falloff.lasting_seconds is 0"),
        (
            "[rules.saturation.await_floor_seconds]\nssd = -1",
            "rules.saturation.await_floor_seconds.ssd is -1; it must be between 0 and",
        ),
        (
            "[rules.baseline]\nmemory = 10\nobservations = 20",
            "rules.baseline.memory is 10; it must be between 20 and",
        ),
    ],
)
def test_an_invalid_value_is_rejected_with_the_valid_ones(text: str, expected: str) -> None:
    assert expected in error_message(text)


@pytest.mark.parametrize("interval", ["0.1", "10", "10.0"])
def test_the_limits_of_a_range_are_valid(interval: str) -> None:
    assert (
        float(interval)
        == read(f"[sampler]\ninterval_seconds = {interval}").sampler.interval_seconds
    )


_TOML = st.recursive(
    st.booleans() | st.integers() | st.integers(10**400, 10**401) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


def _nested(dotted: str, value: Any) -> dict[str, Any]:
    first, _, rest = dotted.partition(".")
    return {first: _nested(rest, value) if rest else value}


@example("sampler.interval_seconds", 10**400)
@example("rules.baseline.memory", 10**400)
@example("rules.saturation.await_factor", -(10**400))
@example("rules.saturation.queue_depth", {"nvme": 10**400})
@example("rules.saturation", {"two\nlines": 1})
@example("path", {"procfs": "two\nlines"})
@example("path", {"procfs": "a\0b"})
@example("state", {"directory": "a\0b"})
@example("collector", {"two\nlines": True})
@example("web", {"listen_address": "two\nlines"})
@example("disk", {"device_include": "(\n"})
@example("smart.drive", [{}])
@example("smart.drive", [{"path": "/dev/sda"}])
@given(
    st.sampled_from(keys(Settings())) | st.sampled_from(["path", "rules", "rules.saturation"]),
    _TOML,
)
def test_any_value_of_any_key_is_accepted_or_rejected_in_one_line(key: str, value: Any) -> None:
    message = rejection(_nested(key, value))
    assert message is None or message.splitlines() == [message]


@example({"probe": []})
@given(st.dictionaries(st.text(), _TOML, max_size=2))
def test_any_file_is_accepted_or_rejected(values: dict[str, Any]) -> None:
    message = rejection(values)
    assert message is None or message.splitlines() == [message]
    if values and values.keys().isdisjoint(field.name for field in fields(Settings)):
        assert message is not None
        assert message.startswith("unknown key ")


def rejection(values: dict[str, Any]) -> str | None:
    try:
        validated(parse_record(Settings, values, ""))
    except ConfigError as e:
        return str(e)
    return None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[probe]\ndirectory = "probe"', "absolute path"),
        ('[probe]\nprofiles = ["slow"]', "profiles are fsync"),
        ('[probe]\nprofiles = ["slc"]', "interval_seconds"),
        ("[probe]\nfirst_delay_seconds = -1", "probe.first_delay_seconds is -1"),
        ("[probe]\nbudget_bytes_per_day = -1", "probe.budget_bytes_per_day is -1"),
        ("[probe.gate]\nbusy_ratio = 2", "probe.gate.busy_ratio is 2"),
        ("[probe.gate]\nguard_samples = 0", "probe.gate.guard_samples is 0"),
        ('[probe.profile.fsync]\nfilename = "/dev/sda"', "unknown key probe.profile.fsync"),
        ("[probe.profile.fsync]\nblock_bytes = 1", "probe.profile.fsync.block_bytes is 1"),
    ],
)
def test_an_invalid_probe_setting_is_rejected(text: str, words: str) -> None:
    assert words in error_message(text)


def test_probes_accept_several_directories_and_custom_profiles() -> None:
    settings = read("""
        [probe]
        directory = ["/a", "/b"]
        profiles = ["fsync", "mine"]
        [probe.profile.mine]
        rw = "randread"
        block_bytes = 4096
        interval_seconds = 600
    """)
    assert (Path("/a"), Path("/b")) == settings.probe.directory
    assert 600 == settings.probe.profile["mine"].interval_seconds
    assert (Path("/a"),) == read('[probe]\ndirectory = "/a"').probe.directory


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            Settings(smart=SmartSettings(drive=(SmartDrive("sda", "sat"),))),
            r"^smart\.drive: 'sda': the path of a drive must be absolute; ",
        ),
        (
            Settings(smart=SmartSettings(drive=(SmartDrive("/dev/sda", "sat --all"),))),
            r"^smart\.drive: .*'sat --all' is not a device type",
        ),
        (
            Settings(device={"sda": DeviceSettings(smart_type="sat;reboot")}),
            r"^device\.sda\.smart_type: .*'sat;reboot' is not a device type",
        ),
        (
            Settings(smart=SmartSettings(directory=Path("run/agent"))),
            r"^smart\.directory is run/agent; use an absolute path$",
        ),
    ],
)
def test_an_invalid_smart_setting_is_rejected(settings: Settings, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        validated(settings)


@pytest.mark.parametrize("kind", ["off", "", "sat,auto", "jmb39x-q,0,s33,force", "usbjmicron,x,1"])
def test_a_device_type_of_smartctl_is_accepted(kind: str) -> None:
    settings = Settings(device={"sda": DeviceSettings(smart_type=kind)})
    assert settings is validated(settings)


_WEEKLY_SLC = "[probe.profile.slc]\ninterval_seconds = 604800\n"


def slc_chosen(more: str = "") -> str:
    return f'[probe]\nprofiles = ["slc"]\n{more}'


def test_a_weekly_slc_profile_within_the_budget_is_valid() -> None:
    read(slc_chosen("budget_bytes_per_day = 40_000_000_000\n") + _WEEKLY_SLC)
    read(slc_chosen() + _WEEKLY_SLC)
    read(slc_chosen("budget_bytes_per_day = 9_500_000\n") + _WEEKLY_SLC)


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        ("", "which has no interval"),
        ("[probe.profile.slc]\ninterval_seconds = 86400\n", "it must be at least 604800"),
        (f"{_WEEKLY_SLC}rate_iops = 10\n", "a rate limit hides the cache cliff"),
    ],
)
def test_an_slc_profile_that_wears_the_drive_is_rejected(profile: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read(slc_chosen() + profile)


def test_an_slc_profile_that_the_budget_for_the_life_cannot_hold_is_rejected() -> None:
    """It is charged to the life of the drive: 3,650 daily budgets."""
    words = "one run .* may use 34359738368 bytes of the budget for the .* life, .*; raise the"
    with pytest.raises(ConfigError, match=words):
        read(slc_chosen("budget_bytes_per_day = 9_400_000\n") + _WEEKLY_SLC)


def test_settings_that_are_validated_again_leave_no_memory_behind() -> None:
    """A reload validates them. CPython keeps up to 4,096 names that getattr has looked up."""
    settings = Settings()
    of_module = [tracemalloc.Filter(inclusive=True, filename_pattern=config_validation.__file__)]

    def allocated(times: int) -> int:
        for _ in range(times):
            validated(settings)
        found = tracemalloc.take_snapshot().filter_traces(of_module)
        return sum(trace.size for trace in found.traces)

    tracemalloc.start()
    try:
        before = allocated(3)
        assert allocated(300) - before < 1024
    finally:
        tracemalloc.stop()
