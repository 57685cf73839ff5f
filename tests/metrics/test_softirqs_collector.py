"""Tests of `metrics.softirqs_collector`."""

from exporter.metrics.softirqs_collector import samples
from tests.metrics.page import page


def test_softirqs_by_vector_and_by_cpu() -> None:
    counts = {"BLOCK": {0: 5, 2: 7}, "NET_RX": {0: 1, 2: 0}}
    assert {"ssd_softirqs_total": {("BLOCK",): 12, ("NET_RX",): 1}} == page(
        samples(counts, per_cpu=False)
    )
    by_cpu = page(samples(counts, per_cpu=True))["ssd_softirqs_by_cpu_total"]
    expected = {("0", "BLOCK"): 5, ("2", "BLOCK"): 7, ("0", "NET_RX"): 1, ("2", "NET_RX"): 0}
    assert expected == by_cpu
