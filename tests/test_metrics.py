"""The catalogue: names are an interface, and follow rules."""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from exporter.metrics import catalogue, compat_families, own_families
from exporter.metrics.desc import Buckets, MetricDesc

ROOT = Path(__file__).parents[1]

ALL = [desc for _, subject in catalogue.SUBJECTS for desc in catalogue.families(subject)]

#: Names that others chose.
FOREIGN = {*catalogue.families(compat_families), *own_families.PROCESS.values()}
OURS = [desc for desc in ALL if desc not in FOREIGN]

UNITS = ("seconds", "bytes", "ratio", "celsius", "bytes_per_second", "timestamp_seconds", "info")

#: Names of things that are counted, or of states: they have no unit.
UNITLESS = {
    "ssd_cpu_softirq_hottest_cpu",
    "ssd_device_state_ok",
    "ssd_device_up",
    "ssd_collector_success",
    "ssd_disk_io_now",
    "ssd_disk_queue_depth",
    "ssd_disk_queue_depth_max",
    "ssd_filesystem_readonly",
    "ssd_io_bottleneck",
    "ssd_md_degraded_disks",
    "ssd_partition_misaligned",
    "ssd_smart_available",
    "ssd_smart_healthy",
    "ssd_smart_critical_warning",
    "ssd_smart_pending_sectors",
    "ssd_smart_self_test_passed",
    "ssd_smart_exit_bit",
    "ssd_smart_firmware_issue",
    "ssd_smart_power_mode",
    "ssd_smart_plp_healthy",
    "ssd_probe_iops",
    "ssd_probe_running",
    "ssd_probe_steady_state",
    "ssd_command_stuck",
    # What a vendor's attribute counts, and in which unit, is the vendor's.
    "ssd_ata_attribute_raw",
    "ssd_ata_attribute_value",
    "ssd_ata_attribute_worst",
    "ssd_ata_attribute_threshold",
}

#: Counters of things and not of a unit.
COUNTED = re.compile(
    r"_(completed|merged|requests|errors|timeouts|dropped|times_squeezed|samples|gaps|softirqs"
    r"|softirqs_by_cpu|events|polls|runs|skipped|sectors|failures|entries|cycles|shutdowns)_total$"
)

LABELS = {
    *("device", "serial", "controller", "model", "family", "firmware", "wwn", "transport"),
    *("protocol", "rotational", "scheduler", "write_cache", "fua", "discard", "mountpoint"),
    *("fstype", "role", "partition", "severity", "block", "op", "source", "window", "cause"),
    *("mode", "cpu", "vector", "cgroup", "collector", "reason"),
    *("version", "python", "smartctl", "fio", "kernel"),
    *("sensor", "level", "warning", "bit", "bound", "method", "issue", "id", "attribute"),
    *("result", "command", "idle"),
    *("profile", "stat", "period", "phase", "engine", "rw", "bs", "iodepth", "numjobs"),
    *("direct", "fsync", "file_bytes", "fio_version"),
}

#: No label may be called so: they belong to Prometheus or to the histogram.
TAKEN = {"le", "quantile", "job", "instance", "__name__"}

every = pytest.mark.parametrize("desc", ALL, ids=lambda desc: desc.name)
each_of_ours = pytest.mark.parametrize("desc", OURS, ids=lambda desc: desc.name)


def test_no_name_is_given_twice() -> None:
    names = Counter(desc.name for desc in ALL)
    assert {} == {name: count for name, count in names.items() if count > 1}


def test_no_histograms_series_is_another_family() -> None:
    made = {
        f"{desc.name}_{suffix}"
        for desc in ALL
        if desc.kind == "histogram"
        for suffix in ("bucket", "sum", "count")
    }
    assert set() == made & {desc.name for desc in ALL}


def test_the_catalogue_holds_every_family_that_is_declared() -> None:
    """Also those of modules that nobody has entered among its subjects."""
    declared = {
        node.args[0].value
        for path in (ROOT / "exporter").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Desc"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }
    assert set() == declared - {desc.name for desc in ALL}


def test_no_family_is_declared_outside_the_catalogue() -> None:
    outside = {
        path.name
        for path in (ROOT / "exporter").rglob("*.py")
        if path.parent.name != "metrics" and re.search(r"\bDesc\(\s*\"", path.read_text())
    }
    assert set() == outside


@each_of_ours
def test_our_names_begin_with_ssd(desc: MetricDesc) -> None:
    assert re.fullmatch(r"ssd_[a-z][a-z0-9]*(_[a-z0-9]+)*", desc.name)


@every
def test_what_only_grows_ends_in_total_and_nothing_else_does(desc: MetricDesc) -> None:
    assert (desc.kind == "counter") == desc.name.endswith("_total")


@each_of_ours
def test_a_name_ends_in_its_base_unit(desc: MetricDesc) -> None:
    if desc.name in UNITLESS or COUNTED.search(desc.name):
        return
    base = desc.name.removesuffix("_total").removesuffix("_max")
    assert base.endswith(tuple(f"_{unit}" for unit in UNITS)), "or list it above, with a reason"


@each_of_ours
def test_no_name_holds_a_unit_that_is_no_base_unit(desc: MetricDesc) -> None:
    words = set(desc.name.split("_"))
    assert set() == words & {"ms", "milliseconds", "microseconds", "percent", "kb", "mb", "gb"}


@every
def test_help_is_sentences(desc: MetricDesc) -> None:
    assert re.fullmatch(r"[A-Z0-9].*\.", desc.help), "begins like a sentence, ends in a full stop"
    assert desc.help == " ".join(desc.help.split()), "one line, single spaces"
    assert desc.help.isascii()


@each_of_ours
def test_label_names_are_of_a_closed_set(desc: MetricDesc) -> None:
    assert set() == set(desc.labels) - LABELS
    assert len(desc.labels) == len(set(desc.labels))


@every
def test_no_label_takes_the_name_of_anothers(desc: MetricDesc) -> None:
    assert set() == TAKEN & set(desc.labels)


@each_of_ours
def test_what_is_of_a_device_names_it_first(desc: MetricDesc) -> None:
    if "device" in desc.labels and "cgroup" not in desc.labels:
        assert desc.labels[0] == "device"


@every
def test_histograms_and_only_they_have_bounds_that_rise(desc: MetricDesc) -> None:
    assert (desc.kind == "histogram") == bool(desc.edges)
    assert list(desc.edges) == sorted(set(desc.edges))
    assert all(isinstance(edge, float) and edge > 0 for edge in desc.edges), "0.05, never 1"


def test_a_sample_has_a_value_for_each_label() -> None:
    desc = MetricDesc("ssd_test", "A test.", ("device", "op"))
    assert (desc, ("sda", "read"), 3) == desc(3, "sda", "read")
    for labels in ([], ["sda"], ["sda", "read", "more"]):
        with pytest.raises(TypeError, match="ssd_test takes the labels"):
            desc(3, *labels)


def test_a_histograms_value_has_a_weight_for_each_bucket() -> None:
    value = Buckets((1.0, 2.0), 3.5)
    assert ((1.0, 2.0), 3.5) == (value.weights, value.sum)


def test_metrics_md_is_what_the_catalogue_says() -> None:
    """`make docs` writes it anew."""
    printed = subprocess.run(
        [sys.executable, "-m", "exporter.metrics"], capture_output=True, text=True, check=True
    ).stdout
    assert (ROOT / "METRICS.md").read_text() == printed
