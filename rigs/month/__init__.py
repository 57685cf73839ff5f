"""Simulates a month of a healthy MySQL host and of ten hosts with gradual faults (`make month`).

The code of the exporter evaluates the simulated samples second by second, and promtool evaluates
the rules of alerts/ on the resulting metrics. The result lists which alerts fired and when.
"""
