"""The catalogue: the only place that names a metric, a module a subject.

METRICS.md is made from it, and the tests hold names, units and HELP against the rules.
"""
