"""Tests of `ssd-exporter top`."""
