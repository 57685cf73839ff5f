"""Whether the probes themselves are well."""

from dashboards import promql as q
from dashboards.panel_parts import DRIVE, Panel, Query, Size
from dashboards.panels import timeline
from dashboards.tables import Column, grid

OFF = "probes are off"
_PROFILE = 'profile=~"$profile"'


def of_profile(name: str, *matchers: str) -> str:
    """A family of the probes, of the drives and profiles chosen."""
    return q.of_drive(name, _PROFILE, *matchers)


def _by_profile(name: str) -> str:
    return f"max by (job, instance, device, profile) ({of_profile(name)})"


def runs() -> tuple[Panel, ...]:
    third = Size(8, 8)
    by_result = "sum by (job, instance, device, profile, result)"
    return (
        timeline(
            "Runs in the hour before, by result",
            "Aborted: production needed the drive. Stuck: the probe waits in the kernel.",
            "short",
            Query(
                f"{by_result} ({q.increase(of_profile('ssd_probe_runs_total'), '1h')})",
                f"{{{{result}}}} {{{{profile}}}} {DRIVE}",
            ),
            style="bars",
            size=third,
            nothing=OFF,
        ),
        timeline(
            "Skips in the hour before, by reason",
            "Why a probe did not run. A busy host skips; a drive that is always busy is probed now "
            "and then all the same.",
            "short",
            Query(
                "sum by (job, instance, device, profile, reason) "
                f"({q.increase(of_profile('ssd_probe_skipped_total'), '1h')})",
                f"{{{{reason}}}} {{{{profile}}}} {DRIVE}",
            ),
            style="bars",
            size=third,
            nothing="none, or probes are off",
        ),
        timeline(
            "Written by probes in the 24 hours before",
            "What the measurement itself costs in endurance.",
            "bytes",
            Query(q.increase(q.of_drive("ssd_probe_written_bytes_total"), "24h"), DRIVE),
            size=third,
            nothing=OFF,
        ),
        timeline(
            "How long runs take",
            "A run that nears its limit is a drive that hardly answers.",
            "s",
            Query(of_profile("ssd_probe_duration_seconds"), f"{{{{profile}}}} {DRIVE}"),
            size=third,
            nothing=OFF,
        ),
        grid(
            "How each probe measures",
            "Only runs of the same settings compare.",
            Column(
                "",
                "max by (job, instance, device, profile, engine, rw, bs, iodepth, fsync, "
                f"fio_version, fstype, mountpoint) ({of_profile('ssd_probe_info')})",
            ),
            Column(
                "range of rounds",
                _by_profile("ssd_probe_steady_range_ratio"),
                "percentunit",
            ),
            Column(
                "slope of rounds",
                _by_profile("ssd_probe_steady_slope_ratio"),
                "percentunit",
            ),
            Column(
                "off the steady mean",
                _by_profile("ssd_probe_deviation_ratio"),
                "percentunit",
            ),
            size=Size(16, 8),
            nothing=OFF,
        ),
    )
