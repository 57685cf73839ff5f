"""Panels on the operation of the probes."""

from dashboards import promql as q
from dashboards.panel_parts import DRIVE, Panel, Query, Size
from dashboards.panels import timeline
from dashboards.tables import Column, grid

#: Text of panels without data.
OFF = "probes are disabled"
_PROFILE = 'profile=~"$profile"'


def of_profile(name: str, *matchers: str) -> str:
    """Selects a probe metric on the selected drives and profiles."""
    return q.of_drive(name, _PROFILE, *matchers)


def _by_profile(name: str) -> str:
    return f"max by (job, instance, device, profile) ({of_profile(name)})"


def runs() -> tuple[Panel, ...]:
    third = Size(8, 8)
    by_result = "sum by (job, instance, device, profile, result)"
    return (
        timeline(
            "Runs in the previous hour, by result",
            "Aborted: stopped because of production load. Stuck: the probe hangs in the kernel.",
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
            "Skipped runs in the previous hour, by reason",
            "Reasons why a probe did not run. Probes are skipped on a busy host; on a drive that "
            "is always busy a probe still runs occasionally.",
            "short",
            Query(
                "sum by (job, instance, device, profile, reason) "
                f"({q.increase(of_profile('ssd_probe_skipped_total'), '1h')})",
                f"{{{{reason}}}} {{{{profile}}}} {DRIVE}",
            ),
            style="bars",
            size=third,
            nothing="none, or probes are disabled",
        ),
        timeline(
            "Written by probes in the previous 24 hours",
            "Bytes that probes wrote. They use endurance of the drive.",
            "bytes",
            Query(q.increase(q.of_drive("ssd_probe_written_bytes_total"), "24h"), DRIVE),
            size=third,
            nothing=OFF,
        ),
        timeline(
            "Duration of runs",
            "If a run takes almost as long as its time limit, the drive hardly responds.",
            "s",
            Query(of_profile("ssd_probe_duration_seconds"), f"{{{{profile}}}} {DRIVE}"),
            size=third,
            nothing=OFF,
        ),
        grid(
            "Probe settings",
            "Compare only runs with the same settings. Range and slope are those of the last five "
            "runs, as a share of their mean.",
            Column(
                "",
                "max by (job, instance, device, profile, engine, rw, bs, iodepth, fsync, "
                f"fio_version, fstype, mountpoint) ({of_profile('ssd_probe_info')})",
            ),
            Column(
                "range of runs",
                _by_profile("ssd_probe_steady_range_ratio"),
                "percentunit",
            ),
            Column(
                "slope of runs",
                _by_profile("ssd_probe_steady_slope_ratio"),
                "percentunit",
            ),
            Column(
                "deviation from the steady mean",
                _by_profile("ssd_probe_deviation_ratio"),
                "percentunit",
            ),
            size=Size(16, 8),
            nothing=OFF,
        ),
    )
