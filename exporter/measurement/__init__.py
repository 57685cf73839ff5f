"""Runs measurements: probes that a person starts.

A probe is a short run of fio. Before a measurement starts, the host lock ensures that no other
probe runs, the gate checks that production does not need the device, and the user consents to the
bytes that are written. While it runs, the guard ends it if production needs the device. The bytes
are charged to a budget, which limits the wear of the drive.
"""
