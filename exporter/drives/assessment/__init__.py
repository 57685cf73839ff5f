"""Checks whether a SMART report is plausible, and explains why a drive reports a failure. Pure.

`log_judgement` checks each log of a report before its values are read. `value_bounds` checks the
values. `continuity` compares the counters of successive reports. `failure_cause` determines the
cause of a reported failure.
"""
