"""Tests of the catalogue: names, labels, units and HELP texts follow rules."""

import ast
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from exporter.families import catalogue, compat_families, own_families, smartctl_families
from exporter.families.desc import Buckets, MetricDesc
from exporter.metrics.__main__ import first_sentence
from tests.processes import run_program

ROOT = Path(__file__).parents[2]

ALL = [desc for _, subject in catalogue.SUBJECTS for desc in catalogue.families(subject)]

#: Families whose names other projects have chosen.
FOREIGN = {
    *catalogue.families(compat_families),
    *catalogue.families(smartctl_families),
    *own_families.PROCESS.values(),
}
OURS = [desc for desc in ALL if desc not in FOREIGN]

UNITS = ("seconds", "bytes", "ratio", "celsius", "bytes_per_second", "timestamp_seconds", "info")

#: Names of counted things and of states. They have no unit.
UNITLESS = {
    "ssd_cpu_softirq_hottest_cpu",
    "ssd_device_state_ok",
    "ssd_device_up",
    "ssd_collector_success",
    "ssd_disk_io_now",
    "ssd_disk_queue_depth",
    "ssd_disk_queue_depth_max",
    "ssd_disk_slow_inside_drive",
    "ssd_device_role_active",
    "ssd_filesystem_failed",
    "ssd_filesystem_readonly",
    "ssd_io_bottleneck",
    "ssd_md_degraded_disks",
    "ssd_partition_misaligned",
    "ssd_smart_available",
    # A number of files.
    "ssd_state_set_aside_files",
    "ssd_smart_healthy",
    "ssd_smart_critical_warning",
    "ssd_smart_failure_cause",
    "ssd_smart_rejected_values",
    "ssd_smart_log_missing",
    "ssd_smart_thermal_throttling_level",
    "ssd_smart_offline_dies",
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
    # The unit of an ATA attribute is vendor-specific.
    "ssd_ata_attribute_raw",
    "ssd_ata_attribute_value",
    "ssd_ata_attribute_worst",
    "ssd_ata_attribute_threshold",
    "ssd_ata_attribute_failed",
}

#: Counters of things that have no unit.
COUNTED = re.compile(
    r"_(completed|merged|requests|errors|timeouts|dropped|times_squeezed|samples|gaps|softirqs"
    r"|softirqs_by_cpu|events|polls|runs|skipped|sectors|failures|entries|cycles|shutdowns"
    r"|writes|lost|unfinished|windows|windows_shortened)_total$"
)

LABELS = {
    *("device", "serial", "controller", "model", "family", "firmware", "wwn", "transport"),
    *("protocol", "rotational", "scheduler", "write_cache", "fua", "discard", "mountpoint"),
    *("fstype", "role", "partition", "severity", "block", "op", "source", "window", "cause"),
    *("mode", "cpu", "vector", "cgroup", "service", "collector", "reason"),
    *("version", "python", "smartctl", "fio", "kernel"),
    *("sensor", "level", "warning", "bit", "bound", "method", "issue", "id", "attribute"),
    *("prefailure", "port", "log", "area", "min_seconds"),
    *("result", "command", "idle", "pool", "state", "action", "file"),
    *("profile", "stat", "period", "phase", "engine", "rw", "bs", "iodepth", "numjobs"),
    *("direct", "fsync", "file_bytes", "fio_version"),
}

#: Label names that Prometheus reserves.
TAKEN = {"le", "quantile", "job", "instance", "__name__"}

#: Limits the length of a HELP sentence.
_MAX_WORDS_PER_SENTENCE = 32

every = pytest.mark.parametrize("desc", ALL, ids=lambda desc: desc.name)
each_of_ours = pytest.mark.parametrize("desc", OURS, ids=lambda desc: desc.name)


def test_names_are_unique() -> None:
    names = Counter(desc.name for desc in ALL)
    assert {} == {name: count for name, count in names.items() if count > 1}


def test_no_histogram_series_has_the_name_of_another_family() -> None:
    series = {
        f"{desc.name}_{suffix}"
        for desc in ALL
        if desc.kind == "histogram"
        for suffix in ("bucket", "sum", "count")
    }
    assert set() == series & {desc.name for desc in ALL}


def test_the_catalogue_contains_every_declared_family() -> None:
    """Modules that are missing in `catalogue.SUBJECTS` count too."""
    declared = {
        node.args[0].value
        for path in (ROOT / "exporter").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "MetricDesc"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }
    assert len(declared) > 100
    assert set() == declared - {desc.name for desc in ALL}


def test_no_family_is_declared_outside_the_catalogue() -> None:
    outside = {
        path.name
        for path in (ROOT / "exporter").rglob("*.py")
        if path.parent.name != "families" and re.search(r"\bMetricDesc\(\s*\"", path.read_text())
    }
    assert set() == outside


@each_of_ours
def test_names_start_with_ssd(desc: MetricDesc) -> None:
    assert re.fullmatch(r"ssd_[a-z][a-z0-9]*(_[a-z0-9]+)*", desc.name)


@every
def test_counters_and_only_counters_end_in_total(desc: MetricDesc) -> None:
    assert (desc.kind == "counter") == desc.name.endswith("_total")


@each_of_ours
def test_names_end_in_their_base_unit(desc: MetricDesc) -> None:
    if desc.name in UNITLESS or COUNTED.search(desc.name):
        return
    base = desc.name.removesuffix("_total").removesuffix("_max")
    assert base.endswith(tuple(f"_{unit}" for unit in UNITS)), (
        "or add it to UNITLESS, with a reason"
    )


@each_of_ours
def test_names_contain_only_base_units(desc: MetricDesc) -> None:
    words = set(desc.name.split("_"))
    assert set() == words & {"ms", "milliseconds", "microseconds", "percent", "kb", "mb", "gb"}


@every
def test_help_consists_of_sentences(desc: MetricDesc) -> None:
    assert re.fullmatch(r"([A-Z0-9]|ssd_).*\.", desc.help), "starts and ends like a sentence"
    assert desc.help == " ".join(desc.help.split()), "one line, single spaces"
    assert desc.help.isascii()


@each_of_ours
def test_help_sentences_are_short(desc: MetricDesc) -> None:
    """The first says what the metric is, with the source in parentheses. Traps follow."""
    for sentence in re.split(r"(?<=[.:]) ", desc.help):
        assert len(sentence.split()) <= _MAX_WORDS_PER_SENTENCE, sentence


@each_of_ours
def test_help_of_an_info_metric_states_its_value(desc: MetricDesc) -> None:
    if desc.name.endswith("_info"):
        assert "the value is always 1" in desc.help


@each_of_ours
def test_label_names_are_from_a_closed_set(desc: MetricDesc) -> None:
    assert set() == set(desc.labels) - LABELS
    assert len(desc.labels) == len(set(desc.labels))


@every
def test_no_label_has_a_reserved_name(desc: MetricDesc) -> None:
    assert set() == TAKEN & set(desc.labels)


@each_of_ours
def test_device_is_the_first_label(desc: MetricDesc) -> None:
    if "device" in desc.labels and "cgroup" not in desc.labels:
        assert desc.labels[0] == "device"


@every
def test_histograms_and_only_histograms_have_rising_bounds(desc: MetricDesc) -> None:
    assert (desc.kind == "histogram") == bool(desc.edges)
    assert list(desc.edges) == sorted(set(desc.edges))
    assert all(isinstance(edge, float) and edge > 0 for edge in desc.edges), "1.0, not 1"


def test_a_sample_requires_a_value_for_each_label() -> None:
    desc = MetricDesc("ssd_test", "A test.", ("device", "op"))
    assert (desc, ("sda", "read"), 3) == desc(3, "sda", "read")
    for labels in ([], ["sda"], ["sda", "read", "more"]):
        with pytest.raises(TypeError, match="ssd_test takes the labels"):
            desc(3, *labels)


def test_the_value_of_a_histogram_has_a_weight_for_each_bucket() -> None:
    value = Buckets((1.0, 2.0), 3.5)
    assert ((1.0, 2.0), 3.5) == (value.weights, value.sum)


@pytest.mark.parametrize(
    ("document", "arguments"), [("METRICS.md", []), ("docs/metrics.md", ["reference"])]
)
def test_the_documents_are_up_to_date(document: str, arguments: list[str]) -> None:
    """`make docs` generates them."""
    argv = [sys.executable, "-m", "exporter.metrics", *arguments]
    printed = run_program(argv, check=True).stdout
    assert (ROOT / document).read_text() == printed


def test_metrics_md_can_be_read_in_ten_minutes() -> None:
    """At 260 words a minute; a name in code is one word."""
    words = re.findall(r"`[^`]+`|[\w'%]+", (ROOT / "METRICS.md").read_text())
    assert len(words) < 2600


def test_the_overview_has_the_first_sentence_without_its_source() -> None:
    text = "Time of all CPUs; user includes nice (/proc/stat). iowait is a hint."
    assert "Time of all CPUs; user includes nice" == first_sentence(text)
    assert "Versions of the exporter" == first_sentence(
        "Versions of the exporter; the value is always 1."
    )
