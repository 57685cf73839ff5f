"""Converts TOML values to the records of `exporter.config.settings`, and validates settings.

The fields of the dataclasses define the keys and their types, so each setting is declared once.
pydantic could do the same, but it takes 24 MB of memory (measured), which is too much on a database
host.
"""

import os
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from exporter.config import profiles
from exporter.config.profiles import PROFILES, Profile
from exporter.config.settings import (
    COLLECTORS,
    ProbeSettings,
    Settings,
    device_filter,
    regular_expression,
)
from exporter.probe import budget_ledger
from exporter.runtime.errors import CommandError, ConfigError
from exporter.smart import addressing, smartctl
from exporter.smart.smartctl import Address, Logs
from exporter.web.listen import parse_address

R = TypeVar("R")

#: The probe profile that fills the drive's whole write cache, and its shortest permitted interval
#: in seconds. Each run wears the drive, so it may run once a week at most.
_SLC = "slc"
_MIN_SLC_INTERVAL_SECONDS = 7 * 86_400

_DAY_SECONDS = 86_400.0

_LOG_LEVELS = ("debug", "info", "warning", "error")
_LOG_FORMATS = ("logfmt", "json")

#: The numbers among the settings: their table, the minimum, the maximum, and the keys.
_BOUNDS: Sequence[tuple[str, float, float, str]] = (
    ("sampler", 0.1, 10, "interval_seconds"),
    ("survey", 5, 3600, "interval_seconds"),
    ("survey", 0, 365, "keep_role_days"),
    ("cgroup", 0, 50, "services"),
    ("history", 1, 31, "days"),
    ("history", 1, 12, "months"),
    ("latency", 1, 30, "window_seconds"),
    ("latency", 10, 3600, "period_seconds"),
    ("latency", 100, 20_000, "max_requests_per_second"),
    ("smart", 10, _DAY_SECONDS, "nvme_interval_seconds interval_seconds"),
    ("smart", 10, 3600, "nvme_log_interval_seconds"),
    ("smart", 1, 600, "timeout_seconds"),
    ("smart", 1, 64, "processes processes_per_adapter"),
    ("smart", 60, _DAY_SECONDS, "rescan_seconds"),
    ("smart", 1, 1000, "max_age_intervals"),
    ("probe", 0, _DAY_SECONDS, "first_delay_seconds"),
    ("probe", 0, 1e15, "budget_bytes_per_day"),
    ("probe.gate", 0, 1, "busy_ratio pressure_ratio cgroup_pressure_ratio free_ratio"),
    ("probe.gate", 0, 1, "guard_pressure_ratio guard_waiting_ratio"),
    ("probe.gate", 0, _DAY_SECONDS, "host_uptime_seconds"),
    ("probe.gate", 0, 100, "hot_margin_celsius"),
    ("probe.gate", 0, 200, "hot_celsius"),
    ("probe.gate", 0, 10, "worn_ratio"),
    ("probe.gate", 0, 1e18, "free_bytes"),
    ("probe.gate", 0, 1e12, "free_inodes"),
    ("probe.gate", 1, 1_000_000, "forced_after_skips"),
    ("probe.gate", 1, 1000, "guard_samples"),
    ("probe.gate", 1, 100_000, "guard_queue"),
    ("rules.saturation", 0, 1, "busy_ratio pressure_ratio"),
    ("rules.saturation", 1, 1000, "await_factor deep_await_factor"),
    ("rules.saturation", 0, 100_000, "queue_depth deep_queue_depth"),
    ("rules.saturation", 0, 100_000, "await_floor_seconds learned_floor_seconds"),
    ("rules.bottleneck", 0, 1, "work_busy_ratio softirq_ratio idle_ratio iowait_ratio"),
    ("rules.write_falloff", 0, 1, "busy_ratio other_share"),
    ("rules.write_falloff", 0.01, 0.95, "falloff_ratio"),
    ("rules.write_falloff", 1, 1000, "other_factor"),
    ("rules.write_falloff", 1, 3600, "rest_seconds lasting_seconds"),
    ("rules.partial_hang", 3, 100, "first_intervals"),
    ("rules.partial_hang", 0.1, 100_000, "excess_requests"),
    ("rules.partial_hang", 1, 1000, "standard_errors"),
    ("rules.partial_hang", 1, 100_000, "noise_intervals"),
    ("rules.partial_hang", 0, 100_000, "first_noise most_least_variance"),
    ("rules.partial_hang", 0, 1000, "least_variance"),
    ("rules.partial_hang", 0, 1, "least_deviation"),
    ("rules.single_hang", 0.1, 1000, "least_excess most_excess standard_errors"),
    ("rules.single_hang", 0.01, 1, "deviation seen_share ended_share"),
    ("rules.single_hang", 0, 32, "normal_blocks"),
    ("rules.single_hang", 0, 1000, "least_noise noise_per_request"),
    ("rules.single_hang", 1, 3600, "least_seconds"),
    ("rules.single_hang", 1, 1000, "surplus_factor"),
    ("rules.single_hang", 0, 1000, "queue_seconds"),
    ("rules.single_hang", 0, 1000, "ended_evidence"),
    ("rules.baseline", 0, 1, "calm_busy_ratio"),
    ("rules.baseline", 0, 100_000, "calm_queue_depth"),
    ("rules.baseline", 512, 1e9, "largest_bytes"),
    ("rules.baseline", 0, _DAY_SECONDS, "interval_seconds"),
    ("rules.baseline", 1, 1_000_000, "reference_observations operations observations"),
)

_TYPE_NAMES = {
    bool: "true or false",
    float: "a number",
    int: "an integer",
    str: "a string in quotes",
    Path: "a path in quotes",
}


#: Settings of earlier versions. They are accepted and have no effect, so that an upgrade starts.
_REMOVED = {
    "rules.write_falloff": frozenset(
        {
            *("read_share", "before_ratio", "near_ratio", "sudden_seconds", "size_ratio"),
            *("reference_bytes", "reference_samples", "reference_seconds", "reference_ratio"),
            *("reference_most_seconds", "await_factor"),
        }
    )
}


def parse_record(kind: type[R], values: Mapping[str, Any], where: str, base: R | None = None) -> R:
    """Returns a record of type `kind` with the given values.

    kind: a dataclass of `exporter.config.settings` or of a module that it uses.
    values: a TOML table, keyed by setting.
    where: the dotted key of the table, for error messages; empty at the top level.
    base: supplies the values that are missing in `values`. None means that the defaults apply.

    Raises:
        ConfigError: a key is unknown or missing, or a value has the wrong type. The message names
            the key.
    """
    hints = get_type_hints(kind)
    known = {str(f.metadata.get("key", f.name)): f for f in fields(kind)}  # type: ignore[arg-type]
    for key in values:
        if key not in known and key not in _REMOVED.get(where, ()):
            raise ConfigError(f"unknown key {_dotted(where, key)}", _hint(key, known))
    arguments: dict[str, Any] = {}
    for key, f in known.items():
        base_value = MISSING if base is None else getattr(base, f.name)
        if key in values:
            arguments[f.name] = parse_value(
                hints[f.name], values[key], _dotted(where, key), base_value
            )
        elif base_value is not MISSING:
            arguments[f.name] = base_value
        elif f.default is MISSING and f.default_factory is MISSING:
            raise ConfigError(f"{_dotted(where, key)} is missing", f"add {key} = ...")
    return kind(**arguments)


def parse_value(kind: Any, value: Any, where: str, base: Any = MISSING) -> Any:
    """Returns a TOML value, converted to the type of its setting.

    kind: the type of the setting.
    where: the dotted key of the setting, for error messages.
    base: the earlier value of the setting. A table is merged into it. MISSING means that there is
        none.

    Raises:
        ConfigError: the value has the wrong type. The message names the key.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        kinds = [argument for argument in arguments if argument is not type(None)]
        return parse_value(kinds[0], value, where, base)
    if is_dataclass(kind):
        return parse_record(
            kind,  # type: ignore[arg-type]
            _table(value, where),
            where,
            None if base in (MISSING, None) else base,
        )
    if origin is tuple:
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list):
            raise _mismatch(where, value, "a list")
        return tuple(
            parse_value(arguments[0], item, f"{where}[{index}]") for index, item in enumerate(items)
        )
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(arguments, _table(value, where), where, base)
    return _scalar(kind, value, where)


def validated(settings: Settings) -> Settings:
    """Returns the settings unchanged if they are valid.

    Raises:
        ConfigError: a value is out of range or contradicts another one. The message names the key.
    """
    _check_bounds(settings)
    _one_of("log.level", settings.log.level, _LOG_LEVELS)
    _one_of("log.format", settings.log.format, _LOG_FORMATS)
    for name in settings.collector:
        if name not in COLLECTORS:
            raise ConfigError(
                f"unknown key collector.{name}", f"collectors are {', '.join(COLLECTORS)}"
            )
    for name, path in (
        ("path.procfs", settings.path.procfs),
        ("path.sysfs", settings.path.sysfs),
        ("path.rootfs", settings.path.rootfs),
    ):
        if not os.path.isdir(path):
            raise ConfigError(f"{name} is {path}, which is not a directory")
    if not settings.web.listen_address:
        raise ConfigError(
            "web.listen_address is empty", 'set at least one address, such as "127.0.0.1:10177"'
        )
    for address in settings.web.listen_address:
        parse_address(address)
    for name, link in (
        ("links.grafana", settings.links.grafana),
        ("links.prometheus", settings.links.prometheus),
    ):
        if link and (not link.startswith(("http://", "https://")) or " " in link):
            raise ConfigError(f"{name} is {link!r}", "it must begin with http:// or https://")
    _check_smart(settings)
    _check_probe(settings.probe)
    device_filter(settings.disk)
    return settings


def _mapping(arguments: tuple[Any, ...], table: Mapping[str, Any], where: str, base: Any) -> Any:
    key_kind, value_kind = arguments
    result = dict(base) if isinstance(base, Mapping) else {}
    for key, item in table.items():
        name = _scalar(key_kind, key, where)
        result[name] = parse_value(value_kind, item, _dotted(where, key))
    return result


def _scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is bool and isinstance(value, bool):
        return value
    if kind is float and (isinstance(value, float) or _is_integer(value)):
        return float(value)
    if kind is int and _is_integer(value):
        return value
    if kind is str and isinstance(value, str):
        return value
    if kind is Path and isinstance(value, str) and value and "\0" not in value:
        return Path(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        choices = [str(member.value) for member in kind]
        if value in choices:
            return kind(value)
        raise ConfigError(f"{where} is {value!r}", f"it must be one of {', '.join(choices)}")
    raise _mismatch(where, value, _TYPE_NAMES.get(kind, str(kind)))


def _is_integer(value: Any) -> bool:
    """Returns True if the value is an integer of at most 64 bits.

    TOML guarantees integers of 64 bits, but tomllib accepts larger ones.
    """
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63


def _table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _mismatch(where, value, "a table")
    return value


def _mismatch(where: str, value: Any, expected: str) -> ConfigError:
    return ConfigError(f"{where} is {value!r}", f"it must be {expected}")


def _hint(key: str, known: Mapping[str, Any]) -> str:
    import difflib  # noqa: PLC0415 - needs 0.2 MB, and only a mistake needs it

    near = difflib.get_close_matches(key, known, n=1)
    return f"did you mean {near[0]}?" if near else f"known keys are {', '.join(sorted(known))}"


def _dotted(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _check_smart(settings: Settings) -> None:
    smart = settings.smart
    regular_expression("smart.include", smart.include)
    regular_expression("smart.exclude", smart.exclude)
    if not smart.directory.is_absolute() or not str(smart.directory).isprintable():
        raise ConfigError(f"smart.directory is {smart.directory}", "use an absolute path")
    for drive in smart.drive:
        for address in addressing.expanded(drive.path, drive.type):
            _check_address("smart.drive", address)
    for name, device in settings.device.items():
        _check_address(f"device.{name}.smart_type", Address("/dev/any", device.smart_type))
        for key, value, minimum, maximum in (
            ("smart_interval_seconds", device.smart_interval_seconds, 10, _DAY_SECONDS),
            ("smart_timeout_seconds", device.smart_timeout_seconds, 1, 600),
            ("rated_bytes_written", device.rated_bytes_written, 1e9, 1e18),
        ):
            if value is not None:
                _between(f"device.{name}.{key}", value, minimum, maximum)


def _check_address(key: str, address: Address) -> None:
    try:
        smartctl.arguments("smartctl", address, Logs.REGULAR)
    except CommandError as e:
        raise ConfigError(f"{key}: {e}", "smartctl(8) lists the types at its option -d") from e


def _check_probe(probe: ProbeSettings) -> None:
    for directory in probe.directory:
        text = str(directory)
        if not directory.is_absolute() or "\\" in text or not text.isprintable():
            raise ConfigError(
                f"probe.directory is {text}",
                "use an absolute path without backslashes and control characters",
            )
    configured = {
        name: profiles.profile(name, parameters) for name, parameters in probe.profile.items()
    }
    for name in probe.profiles:
        profile = configured.get(name) or PROFILES.get(name)
        if profile is None:
            known = ", ".join(dict.fromkeys((*PROFILES, *configured)))
            raise ConfigError(
                f"probe.profiles contains the unknown profile {name!r}", f"profiles are {known}"
            )
        if profile.interval_seconds is None:
            raise ConfigError(
                f"probe.profiles contains {name}, which has no interval",
                f"set probe.profile.{name}.interval_seconds",
            )
    if _SLC in probe.profiles:
        _check_slc(configured.get(_SLC) or PROFILES[_SLC], probe.budget_bytes_per_day)


def _check_slc(profile: Profile, budget_bytes: int) -> None:
    name = f"probe.profile.{_SLC}"
    if (profile.interval_seconds or 0) < _MIN_SLC_INTERVAL_SECONDS:
        raise ConfigError(
            f"{name}.interval_seconds is {profile.interval_seconds:g}",
            f"each run wears the drive: it must be at least {_MIN_SLC_INTERVAL_SECONDS}",
        )
    if profile.is_rate_capped:
        raise ConfigError(
            f"{name}.rate_iops is {profile.rate_iops}",
            "a rate limit hides the cache cliff: remove it",
        )
    # Its bytes are charged to the budget for the drive's life, and not to the day.
    charged = budget_ledger.FILESYSTEM_FACTOR * profile.written_bytes_at_most
    life_bytes = budget_ledger.write_limits(budget_bytes, None).life_bytes
    if charged > life_bytes:
        raise ConfigError(
            f"one run of the profile {_SLC} may use {charged} bytes of the budget for the drive's"
            f" life, which is {life_bytes} (ten years of probe.budget_bytes_per_day)",
            f"raise the budget, or lower {name}.size_bytes",
        )


def _check_bounds(settings: Settings) -> None:
    for table, minimum, maximum, keys in _BOUNDS:
        record = attrgetter(table)(settings)
        # CPython's cache of attributes would keep each new string: 250 KB after many reloads.
        for key in map(sys.intern, keys.split()):
            value = getattr(record, key)
            name = f"{table}.{key}"
            by_class = isinstance(value, Mapping)
            numbers = (
                {f"{name}.{k.value}": v for k, v in value.items()} if by_class else {name: value}
            )
            for dotted, number in numbers.items():
                _between(dotted, number, minimum, maximum)
    latency = settings.latency
    _between("latency.window_seconds", latency.window_seconds, 1, latency.period_seconds / 2)
    hang, baseline = settings.rules.partial_hang, settings.rules.baseline
    _between("rules.partial_hang.intervals", hang.intervals, hang.first_intervals, 100)
    _between("rules.baseline.memory", baseline.memory, baseline.observations, 1e9)


def _between(key: str, value: float, minimum: float, maximum: float) -> None:
    if not minimum <= value <= maximum:
        raise ConfigError(f"{key} is {value:g}", f"it must be between {minimum:g} and {maximum:g}")


def _one_of(key: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"{key} is {value!r}", f"it must be one of {', '.join(choices)}")
