"""Tests of `metrics.softnet_collector`."""

from exporter.linux.softnet_stat import SoftnetCounters
from exporter.metrics.softnet_collector import samples
from tests.metrics.page import page


def test_the_network_backlog() -> None:
    expected = {"ssd_softnet_dropped_total": {(): 3}, "ssd_softnet_times_squeezed_total": {(): 9}}
    assert expected == page(samples(SoftnetCounters(dropped=3, times_squeezed=9)))
