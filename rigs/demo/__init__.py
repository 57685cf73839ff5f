"""`make demo`: six simulated hosts with all verdicts and failing drives, on the real programs.

Each host is a `/proc`, a `/sys` and a smartctl that are simulated in real time, and a real exporter
that reads them. Prometheus, the rules and Alertmanager are those of `make stack`.
"""
