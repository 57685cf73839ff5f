"""The catalogue of all metric families: the only place that names a metric.

It has one module per subject: `*_families`. METRICS.md is generated from it, and the tests check
names, units and HELP texts.
"""
