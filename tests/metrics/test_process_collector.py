"""Tests of `metrics.process_collector`."""

import os

import pytest

from exporter.metrics.client_library import ProcessCollector
from exporter.metrics.process_collector import samples
from tests.metrics.page import page


def test_process_samples_equal_those_of_prometheus_client() -> None:
    families = page(samples(iter(ProcessCollector(registry=None).collect())))
    assert "process_cpu_seconds_total" in families
    assert families["process_resident_memory_bytes"][()] > 1 << 20
    assert families["process_open_fds"][()] == pytest.approx(
        len(os.listdir("/proc/self/fd")), abs=3
    )
