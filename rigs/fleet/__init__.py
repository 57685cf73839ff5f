"""`make fleet`: the rules of alerts/ on Prometheus and on Thanos, with many simulated hosts.

It compares the alerts of both engines while simulated hosts fail and a Thanos Receive is down, and
measures the cost of the rules on each engine.
"""
