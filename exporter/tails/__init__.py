"""The latency of single requests over time: from the windows of the agent to the pages.

`exporter.latency` measures a window. `latency_bins` adds windows up, `latency_document` passes the
sums from the agent to the daemon, and `latency_watch` keeps them there.
"""
