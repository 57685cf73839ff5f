"""Judges a SMART report as a whole: is it plausible, does it continue the previous one, and why
does the drive report a failure? Pure.

`log_judgement` judges each log of a report before its values are read, `value_bounds` the values,
`continuity` the counters of successive reports, and `failure_cause` what a reported failure means.
"""
