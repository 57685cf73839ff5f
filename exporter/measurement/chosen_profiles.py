"""Which profiles a person runs, how long they take, what of the probes' file stays after them."""

from collections.abc import Sequence

from exporter.config import Settings
from exporter.errors import ConfigError
from exporter.probe import profiles
from exporter.probe.filling import filled_bytes, writes_whole
from exporter.probe.profiles import PROFILES, Profile, ProfileSettings


def chosen(name: str | None, settings: Settings) -> tuple[Profile, ...]:
    """The profile of that name, else those that are scheduled.

    Raises:
        ConfigError: it is none, or has a command of its own.
    """
    known = {**PROFILES, **settings.probe.profile}
    listed = ", ".join(sorted(known.keys() - {"slc"}))
    if name == "slc":
        raise ConfigError("slc has a command of its own", "see ssd-exporter slc --help")
    if name is not None and name not in known:
        raise ConfigError(
            f"{name!r} is no profile", f"there are {listed}; a directory is given with --directory"
        )
    found = _scheduled(settings) if name is None else (_profile(name, settings),)
    if not found:
        raise ConfigError("no profile is scheduled", f"name one of {listed}")
    return found


def expected_seconds(profile: Profile) -> float:
    """What a run takes: by its rate cap, else its ceiling."""
    if profile.rate_iops and profile.number_ios:
        return min(profile.number_ios / profile.rate_iops, profile.runtime_seconds)
    return profile.runtime_seconds


def retained_bytes(profiles: Sequence[Profile], settings: Settings) -> int | None:
    """How much of the probes' file stays after these; None where they do not make it longer.

    As much as the daemon fills for what it runs: one that writes it whole needs none before.
    """
    if not any(map(writes_whole, profiles)):
        return None
    return filled_bytes((*profiles, *_scheduled(settings)))


def _scheduled(settings: Settings) -> tuple[Profile, ...]:
    return tuple(_profile(each, settings) for each in settings.probe.profiles if each != "slc")


def _profile(name: str, settings: Settings) -> Profile:
    return profiles.profile(name, settings.probe.profile.get(name, ProfileSettings()))
