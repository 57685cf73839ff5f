"""Benchmarks: CPU time and memory, compared with Debian's node_exporter in the same run."""
