"""`make soak`: runs agent, daemon and probes for hours, and reports what grows.

Memory, descriptors, threads and files are measured regularly while drives hang and recover,
settings are reloaded, units are restarted and logs are rotated.
"""
