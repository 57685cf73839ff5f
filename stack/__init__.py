"""`make stack`: exporter, Prometheus with the rules of alerts/, and Alertmanager on loopback."""
