"""The collectors and the metrics page.

For each subject, a module `*_collector` turns the records of other packages into samples of the
`exporter.families`; `collectors` loads these modules. `exposition` renders the samples as text, and
`page` caches the rendered page.
"""
