"""The live page for people: `/`, `/drive/<name>`, `/live.json`, and their stylesheet and script.

`snapshot` reads what the daemon holds in memory, `views` defines the values, and all other modules
turn values into HTML or JSON without any I/O. The daemon imports this package at the first request
for a page, because most daemons only serve metrics.
"""
