"""Tests of `exporter/linux/mysql`."""
