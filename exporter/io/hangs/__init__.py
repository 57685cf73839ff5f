"""Hangs of one device: requests that do not complete.

`stall_counter` counts the seconds in which requests hang. If none completes, `io.interval` shows
it. `partial_hang` detects that some hang while others complete, and `single_hang` that one of many
does. These modules use no files, no clock and no logs.
"""
