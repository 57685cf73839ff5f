"""The latency of single requests, which the kernel counts in histograms of its tracing subsystem.

`triggers` has the commands for the kernel, `trace_instance` sends them and removes them again,
`trace_histogram` parses what the kernel has counted, `request_window` runs a measurement,
`request_histogram` and `populations` judge it, and `latency_report` presents it.
"""
