"""A month of a MySQL host, generated: healthy, and with each of ten slow illnesses.

`make month` has the exporter's own code judge the month second by second, has promtool evaluate the
rules of alerts/ over what comes of it, and says what fired when.
"""
