"""Exposes metrics: the catalogue, the collectors and the text format.

The catalogue is the only place that names a metric. It has one module per subject, `*_families`.
METRICS.md is generated from it, and the tests check names, units and HELP texts. For each subject,
`*_collector` turns records into samples. `exposition` renders the samples and `page` caches the
rendered page.
"""
