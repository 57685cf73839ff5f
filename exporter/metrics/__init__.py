"""Contains the catalogue of all metrics, the collectors that fill them, and the text format.

The catalogue is the only place that names a metric. It has one module per subject: `*_families`.
METRICS.md is generated from it, and the tests check names, units and HELP texts. For each subject,
a module `*_collector` turns the records of other packages into samples. `exposition` renders the
samples as text, and `page` caches the rendered page.
"""
