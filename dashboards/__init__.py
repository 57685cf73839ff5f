"""Grafana dashboards as Python code; `python -m dashboards` generates the JSON files."""
