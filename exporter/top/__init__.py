"""``ssd-exporter top``: shows the drives of this host live in a terminal.

`live_host` samples the kernel's counters and returns a `Frame`. `view` contains the choices of the
user. `layout` and `table` convert a frame and a view to lines of text; both are pure. `screen`
controls the terminal. `daemon_page` requests the values that need privileges from a running daemon.
"""
