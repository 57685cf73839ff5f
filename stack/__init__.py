"""`make stack`: exporter, Prometheus and Alertmanager with the rules of alerts/, on loopback."""
