"""Monitors SSD health and I/O bottlenecks on Linux, and exports the results to Prometheus."""

__version__ = "0.1.0"

#: The address of the project. `make address` writes it, from pyproject.toml.
ADDRESS = "https://example.org/ssd-exporter"
