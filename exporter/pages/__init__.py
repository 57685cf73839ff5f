"""The live page for people: `/`, `/drive/<name>`, `/live.json`, and their stylesheet and script.

`snapshot` reads the values from the memory of the daemon. `views` defines the values. All other
modules convert them to HTML or JSON and do no I/O. The daemon imports this package at the first
request for a page, because most daemons only serve metrics.
"""
