"""Benchmarks of CPU time, memory and durations, some compared with Debian's node_exporter."""
