"""Whether settings make sense together; types are checked where they are read.

Plain values, as TOML has them, to records; what does not fit is named by its key.

The standard library's dataclasses say which keys there are and of what type, so a setting is
declared once. pydantic would do this too, at 24 MB of memory (measured), on a database host.
"""

import difflib
import os
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from exporter.config import COLLECTORS, ProbeSettings, Settings, device_filter, regular_expression
from exporter.errors import CommandError, ConfigError
from exporter.probe import budget_ledger, profiles
from exporter.probe.gate import GateRules
from exporter.probe.profiles import PROFILES, Profile
from exporter.smart import addressing, smartctl
from exporter.smart.smartctl import Address, Logs
from exporter.web.listen import parse_address

#: The profile that fills a drive's whole write cache each time, and how often it may.
_SLC = "slc"
_SLC_SECONDS = 7 * 86_400

_LEVELS = ("debug", "info", "warning", "error")
_LAYOUTS = ("logfmt", "json")


def validated(settings: Settings) -> Settings:
    """The same settings.

    Raises:
        ConfigError: one of them cannot be; the message names it.
    """
    _between("sampler.interval_seconds", settings.sampler.interval_seconds, 0.1, 10)
    _between("survey.interval_seconds", settings.survey.interval_seconds, 5, 3600)
    _one_of("log.level", settings.log.level, _LEVELS)
    _one_of("log.format", settings.log.format, _LAYOUTS)
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
            raise ConfigError(f"{name} is {path}, which is no directory")
    if not settings.web.listen_address:
        raise ConfigError("web.listen_address is empty", 'give at least one, as "127.0.0.1:10177"')
    for address in settings.web.listen_address:
        parse_address(address)
    _check_rules(settings)
    _check_smart(settings)
    _check_probe(settings.probe)
    device_filter(settings.disk)
    return settings


def _check_smart(settings: Settings) -> None:
    smart = settings.smart
    day = 86_400.0
    _between("smart.nvme_interval_seconds", smart.nvme_interval_seconds, 10, day)
    _between("smart.interval_seconds", smart.interval_seconds, 10, day)
    _between("smart.timeout_seconds", smart.timeout_seconds, 1, 600)
    _between("smart.processes", smart.processes, 1, 64)
    _between("smart.processes_per_adapter", smart.processes_per_adapter, 1, 64)
    _between("smart.rescan_seconds", smart.rescan_seconds, 60, day)
    _between("smart.max_age_intervals", smart.max_age_intervals, 1, 1000)
    regular_expression("smart.include", smart.include)
    regular_expression("smart.exclude", smart.exclude)
    if not smart.directory.is_absolute() or not str(smart.directory).isprintable():
        raise ConfigError(f"smart.directory is {smart.directory}", "name it by its whole path")
    for drive in smart.drive:
        for address in addressing.expanded(drive.path, drive.type):
            _check_address("smart.drive", address)
    for name, device in settings.device.items():
        _check_address(f"device.{name}.smart_type", Address("/dev/any", device.smart_type))
        for key, value, least, most in (
            ("smart_interval_seconds", device.smart_interval_seconds, 10, day),
            ("smart_timeout_seconds", device.smart_timeout_seconds, 1, 600),
            ("rated_bytes_written", device.rated_bytes_written, 1e9, 1e18),
        ):
            if value is not None:
                _between(f"device.{name}.{key}", value, least, most)


def _check_address(name: str, address: Address) -> None:
    try:
        smartctl.arguments("smartctl", address, Logs.REGULAR)
    except CommandError as e:
        raise ConfigError(f"{name}: {e}", "smartctl(8) has the types, by its option -d") from e


def _check_probe(probe: ProbeSettings) -> None:
    for directory in probe.directory:
        text = str(directory)
        if not directory.is_absolute() or "\\" in text or not text.isprintable():
            raise ConfigError(
                f"probe.directory is {text}",
                "name it by its whole path, without backslashes and control characters",
            )
    _between("probe.first_delay_seconds", probe.first_delay_seconds, 0, 86_400)
    _between("probe.budget_bytes_per_day", probe.budget_bytes_per_day, 0, 1e15)
    made = {name: profiles.profile(name, each) for name, each in probe.profile.items()}
    for name in probe.profiles:
        profile = made.get(name) or PROFILES.get(name)
        if profile is None:
            known = ", ".join(dict.fromkeys((*PROFILES, *made)))
            raise ConfigError(f"probe.profiles has {name!r}", f"profiles are {known}")
        if profile.interval_seconds is None:
            raise ConfigError(
                f"probe.profiles has {name}, which has no interval",
                f"set probe.profile.{name}.interval_seconds",
            )
    if _SLC in probe.profiles:
        _check_slc(made.get(_SLC) or PROFILES[_SLC], probe.budget_bytes_per_day)
    _check_gate(probe.gate)


def _check_slc(profile: Profile, budget_bytes: int) -> None:
    name = f"probe.profile.{_SLC}"
    if (profile.interval_seconds or 0) < _SLC_SECONDS:
        raise ConfigError(
            f"{name}.interval_seconds is {profile.interval_seconds:g}",
            f"it wears the drive: it must be at least {_SLC_SECONDS}",
        )
    if profile.is_rate_capped:
        raise ConfigError(
            f"{name}.rate_iops is {profile.rate_iops}",
            "below its own speed a drive shows no cliff: leave it out",
        )
    charged = budget_ledger.FILESYSTEM_FACTOR * profile.written_bytes_at_most
    if charged > budget_bytes:
        raise ConfigError(
            f"probe.profiles has {_SLC}, a run of which may be charged {charged} bytes, and"
            f" probe.budget_bytes_per_day is {budget_bytes}",
            f"it must hold a whole run: raise it, or lower {name}.size_bytes",
        )


def _check_gate(gate: GateRules) -> None:
    for name in (
        *("busy_ratio", "pressure_ratio", "cgroup_pressure_ratio", "free_ratio"),
        "guard_pressure_ratio",
    ):
        _between(f"probe.gate.{name}", getattr(gate, name), 0, 1)
    for name, least, most in (
        ("host_uptime_seconds", 0, 86_400),
        ("hot_margin_celsius", 0, 100),
        ("hot_celsius", 0, 200),
        ("worn_ratio", 0, 10),
        ("free_bytes", 0, 1e18),
        ("free_inodes", 0, 1e12),
        ("forced_after_skips", 1, 1_000_000),
        ("guard_samples", 1, 1000),
        ("guard_queue", 1, 100_000),
    ):
        _between(f"probe.gate.{name}", getattr(gate, name), least, most)


def _check_rules(settings: Settings) -> None:
    rules = settings.rules
    ratios = {
        "saturation.busy_ratio": rules.saturation.busy_ratio,
        "saturation.pressure_ratio": rules.saturation.pressure_ratio,
        "baseline.calm_busy_ratio": rules.baseline.calm_busy_ratio,
        "bottleneck.work_busy_ratio": rules.bottleneck.work_busy_ratio,
        "bottleneck.softirq_ratio": rules.bottleneck.softirq_ratio,
        "bottleneck.idle_ratio": rules.bottleneck.idle_ratio,
        "bottleneck.iowait_ratio": rules.bottleneck.iowait_ratio,
        "write_falloff.busy_ratio": rules.write_falloff.busy_ratio,
        "write_falloff.read_share": rules.write_falloff.read_share,
        "write_falloff.reference_ratio": rules.write_falloff.reference_ratio,
        "write_falloff.size_ratio": rules.write_falloff.size_ratio,
    }
    for name, ratio in ratios.items():
        _between(f"rules.{name}", ratio, 0, 1)
    _between("rules.saturation.await_factor", rules.saturation.await_factor, 1, 1000)
    for name, by_class in (
        ("queue_depth", rules.saturation.queue_depth),
        ("await_floor_seconds", rules.saturation.await_floor_seconds),
    ):
        for kind, number in by_class.items():
            _between(f"rules.saturation.{name}.{kind.value}", number, 0, 100_000)
    falloff = rules.write_falloff
    # A drive as fast as before has not fallen off.
    _between("rules.write_falloff.falloff_ratio", falloff.falloff_ratio, 0.01, 0.95)
    _between("rules.write_falloff.await_factor", falloff.await_factor, 1, 1000)
    _between("rules.write_falloff.reference_bytes", falloff.reference_bytes, 1, 1e12)
    _between("rules.write_falloff.reference_samples", falloff.reference_samples, 1, 1000)
    for name in ("rest_seconds", "reference_seconds", "reference_most_seconds", "lasting_seconds"):
        _between(f"rules.write_falloff.{name}", getattr(falloff, name), 1, 3600)
    _between("rules.baseline.operations", rules.baseline.operations, 1, 1_000_000)
    _between("rules.baseline.observations", rules.baseline.observations, 1, 1_000_000)
    _between("rules.baseline.memory", rules.baseline.memory, rules.baseline.observations, 1e9)


def _between(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise ConfigError(f"{name} is {value:g}", f"it must lie between {least:g} and {most:g}")


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"{name} is {value!r}", f"it must be one of {', '.join(choices)}")


R = TypeVar("R")


def parse_record(kind: type[R], values: Mapping[str, Any], where: str, given: R | None = None) -> R:
    """The record that `values` describe; what they leave out is `given`'s, else the default.

    Raises:
        ConfigError: an unknown key or a value of another type, named by its whole key.
    """
    hints = get_type_hints(kind)
    known = {str(f.metadata.get("key", f.name)): f for f in fields(kind)}  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise ConfigError(f"unknown key {_dotted(where, key)}", _hint(key, known))
    made: dict[str, Any] = {}
    for key, f in known.items():
        before = MISSING if given is None else getattr(given, f.name)
        if key in values:
            made[f.name] = parse_value(hints[f.name], values[key], _dotted(where, key), before)
        elif before is not MISSING:
            made[f.name] = before
    return kind(**made)


def parse_value(kind: Any, found: Any, where: str, before: Any = MISSING) -> Any:
    """One value as the type that its setting has.

    Raises:
        ConfigError: it is of another type.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        kinds = [argument for argument in arguments if argument is not type(None)]
        return parse_value(kinds[0], found, where, before)
    if is_dataclass(kind):
        return parse_record(
            kind,  # type: ignore[arg-type]
            _table(found, where),
            where,
            None if before in (MISSING, None) else before,
        )
    if origin is tuple:
        items = [found] if isinstance(found, str) else found
        if not isinstance(items, list):
            raise _mismatch(where, found, "a list")
        return tuple(
            parse_value(arguments[0], item, f"{where}[{index}]") for index, item in enumerate(items)
        )
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(arguments, _table(found, where), where, before)
    return _scalar(kind, found, where)


def _mapping(arguments: tuple[Any, ...], table: Mapping[str, Any], where: str, before: Any) -> Any:
    key_kind, value_kind = arguments
    made = dict(before) if isinstance(before, Mapping) else {}
    for key, item in table.items():
        name = _scalar(key_kind, key, where)
        made[name] = parse_value(value_kind, item, _dotted(where, key))
    return made


def _scalar(kind: Any, found: Any, where: str) -> Any:
    if kind is bool and isinstance(found, bool):
        return found
    if kind is float and (isinstance(found, float) or _is_integer(found)):
        return float(found)
    if kind is int and _is_integer(found):
        return found
    if kind is str and isinstance(found, str):
        return found
    if kind is Path and isinstance(found, str) and found and "\0" not in found:
        return Path(found)
    if isinstance(kind, type) and issubclass(kind, Enum):
        choices = [str(member.value) for member in kind]
        if found in choices:
            return kind(found)
        raise ConfigError(f"{where} is {found!r}", f"it must be one of {', '.join(choices)}")
    raise _mismatch(where, found, _NAMES.get(kind, str(kind)))


def _is_integer(found: Any) -> bool:
    """Python's TOML readers give longer ones than the 64 bits that TOML promises."""
    return isinstance(found, int) and not isinstance(found, bool) and -(1 << 63) <= found < 1 << 63


_NAMES = {
    bool: "true or false",
    float: "a number",
    int: "a whole number",
    str: "a text in quotes",
    Path: "a path in quotes",
}


def _table(found: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(found, Mapping):
        raise _mismatch(where, found, "a table")
    return found


def _mismatch(where: str, found: Any, wanted: str) -> ConfigError:
    return ConfigError(f"{where} is {found!r}", f"it must be {wanted}")


def _hint(key: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    return f"did you mean {near[0]}?" if near else f"known here: {', '.join(sorted(known))}"


def _dotted(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key
