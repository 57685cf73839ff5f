"""ssd-exporter: a Prometheus exporter and health monitor for SSDs under MySQL."""

__version__ = "0.1.0"
