"""Runs measurements: probes that a person starts.

A probe is a short run of fio. Three conditions must be true before a measurement starts: the host
lock is free, so that no other probe runs. The gate has checked that production does not need the
device. The user has consented to the number of written bytes. During the measurement, the guard
ends it if production needs the device. The bytes are charged to a budget, which limits the wear.
"""
