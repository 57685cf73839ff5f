"""ssd-exporter: SSD health and I/O bottleneck monitor for Linux, with a Prometheus endpoint."""

__version__ = "0.1.0"
