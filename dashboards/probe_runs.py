"""Panels on the operation of the probes."""

from dashboards.builders import promql as q
from dashboards.builders.panel_parts import DRIVE, THIRD, Panel, Query, Size
from dashboards.builders.panels import timeline
from dashboards.builders.tables import Column, Label, Rows, grid
from dashboards.builders.words import Words

#: Text of panels without data.
OFF = "probes are disabled"
_PROFILE = 'profile=~"$profile"'


def of_profile(name: str, *matchers: str) -> str:
    """Selects a probe metric on the selected drives and profiles."""
    return q.of_drive(name, _PROFILE, *matchers)


def _by_profile(name: str) -> str:
    return f"max by (cluster, job, instance, device, profile) ({of_profile(name)})"


#: Phases of the steady-state test. None is an exception: a new drive begins with the first one.
_PHASES = Words(
    tuple(
        (number, text, "transparent")
        for number, text in enumerate(("too few", "transition", "steady", "unsteady"))
    )
)


def _phase() -> str:
    """The phase of the steady-state test, as an index in `_PHASES`."""
    matchers = ('phase="too_few"', 'phase="transition"', 'phase="steady"', 'phase="unsteady"')
    return "sum by (cluster, job, instance, device, profile) (\n  {}\n)".format(
        "\n  or ".join(
            f"{of_profile('ssd_probe_steady_state_info', matcher)} * {number}"
            for number, matcher in enumerate(matchers)
        )
    )


def runs() -> tuple[Panel, ...]:
    by_result = "sum by (cluster, job, instance, device, profile, result)"
    return (
        timeline(
            "Runs in the previous hour, by result",
            "Aborted: stopped because of production load. Stuck: the probe hangs in the kernel.",
            "short",
            Query(
                q.occurred(f"{by_result} ({q.increase(of_profile('ssd_probe_runs_total'), '1h')})"),
                f"{{{{result}}}} {{{{profile}}}} {DRIVE}",
            ),
            size=THIRD,
            nothing=OFF,
        ),
        timeline(
            "Skipped runs in the previous hour, by reason",
            "Reasons why a probe did not run. Probes are skipped on a busy host; on a drive that "
            "is always busy a probe still runs occasionally.",
            "short",
            Query(
                q.occurred(
                    "sum by (cluster, job, instance, device, profile, reason) "
                    f"({q.increase(of_profile('ssd_probe_skipped_total'), '1h')})"
                ),
                f"{{{{reason}}}} {{{{profile}}}} {DRIVE}",
            ),
            size=THIRD,
            nothing="none, or probes are disabled",
        ),
        timeline(
            "Written by probes in the previous 24 hours",
            "Bytes that probes wrote. They use endurance of the drive.",
            "decbytes",
            Query(q.increase(q.of_drive("ssd_probe_written_bytes_total"), "24h"), DRIVE),
            size=THIRD,
            nothing=OFF,
        ),
        timeline(
            "Duration of runs",
            "If a run takes almost as long as its time limit, the drive hardly responds.",
            "s",
            Query(of_profile("ssd_probe_duration_seconds"), f"{{{{profile}}}} {DRIVE}"),
            size=THIRD,
            nothing=OFF,
        ),
        timeline(
            "Requests per second of each run",
            "IOPS of the last successful run. Profiles with a rate cap have no value, because the "
            "cap would be measured.",
            "iops",
            Query(of_profile("ssd_probe_iops"), f"{{{{op}}}} {DRIVE}"),
            size=THIRD,
            nothing="the profile has a rate cap, or probes are disabled",
        ),
        grid(
            "Probe settings",
            "Compare only runs with the same settings. Phase of the steady-state test. Range and "
            "slope are those of the last five runs, as a share of their mean; deviation is that "
            "from the steady mean.",
            Rows(
                "max by (cluster, job, instance, device, profile, engine, rw, bs, iodepth, fsync, "
                f"fio_version, fstype, mountpoint) ({of_profile('ssd_probe_info')})",
                OFF,
            ),
            Label("device", 100),
            Label("profile", 95),
            Label("engine", 80),
            Label("rw", 80),
            Label("bs", 60),
            Label("iodepth", 85, title="depth"),
            Label("fsync", 70),
            Label("fio_version", 90, title="fio"),
            Label("fstype", 70, title="type"),
            Label("mountpoint", 140, title="mounted on", is_flexible=True),
            Column("phase", 100, _phase(), words=_PHASES),
            Column("range", 75, _by_profile("ssd_probe_steady_range_ratio"), "percentunit"),
            Column("slope", 75, _by_profile("ssd_probe_steady_slope_ratio"), "percentunit"),
            Column("deviation", 100, _by_profile("ssd_probe_deviation_ratio"), "percentunit"),
            size=Size(24, 6),
        ),
    )
