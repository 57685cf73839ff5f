"""The samples of the log pages of NVMe drives."""

from exporter.drives.nvme_logs.drive_latency import DriveLatency, LatencyBucket, SlowCommands
from exporter.drives.nvme_logs.log_document import ParsedLogs
from exporter.drives.nvme_logs.log_values import VALUE_NAMES, NvmeLogValues
from exporter.metrics.nvme_log_samples import LABELLED, NUMBERS, PERCENTS, log_samples

LABELS = ("nvme0n1", "S1")


def samples(logs: ParsedLogs) -> dict[tuple[str, ...], float]:
    found = {}
    for desc, labels, value in log_samples(logs, LABELS):
        assert LABELS == labels[:2]
        assert isinstance(value, int | float)
        key = desc.name, *labels[2:]
        found[key] = value
    return found


def of(**values: float) -> dict[tuple[str, ...], float]:
    return samples(ParsedLogs(NvmeLogValues(**values)))  # type: ignore[arg-type]


def test_absent_values_have_no_samples() -> None:
    assert {} == samples(ParsedLogs())


def test_every_field_exists() -> None:
    used = {field for _, field in (*NUMBERS, *PERCENTS)} | {field for _, _, field, _ in LABELLED}
    assert used <= set(VALUE_NAMES)


def test_percents_are_ratios() -> None:
    assert {("ssd_smart_capacitor_health_ratio",): 1.2} == of(capacitor_health_percent=120)
    assert {("ssd_smart_bad_block_spare_ratio", "user"): 0.99} == of(
        bad_user_blocks_spare_percent=99
    )


def test_a_drive_that_reports_a_percentage_of_throttling_has_a_level() -> None:
    name = ("ssd_smart_thermal_throttling_level",)
    assert {name: 1} == of(thermal_throttling_percent=30)
    assert {name: 0} == of(thermal_throttling_percent=0)
    assert {name: 2} == of(thermal_throttling_percent=30, thermal_throttling_level=2)


def test_a_missing_page_has_its_number_and_reason() -> None:
    missing = {0xC0: "refused: NVMe status 0x109", 0xC3: "another page: its GUID is ..."}
    assert {
        ("ssd_smart_log_missing", "0xc0", "refused"): 1,
        ("ssd_smart_log_missing", "0xc3", "invalid"): 1,
    } == samples(ParsedLogs(missing=missing))


def test_the_latency_inside_the_drive_has_counts_per_bucket_and_the_slowest_request() -> None:
    none = SlowCommands(0)
    fast = LatencyBucket(0.005, 0.04, SlowCommands(9, 0.011, True), none, none)
    slow = LatencyBucket(0.04, None, SlowCommands(1, 0.052, True), none, none)
    found = samples(ParsedLogs(latency=DriveLatency(True, True, (fast, slow))))
    counts = "ssd_smart_slow_requests_total"
    assert 9 == found[counts, "read", "0.005"]
    assert 1 == found[counts, "read", "0.04"]
    assert 0 == found[counts, "discard", "0.04"]
    assert 0.052 == found["ssd_smart_slowest_request_seconds", "read"]
    assert ("ssd_smart_slowest_request_seconds", "write") not in found
