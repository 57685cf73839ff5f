"""``ssd-exporter top``: the drives of this host, live in a terminal.

`live_host` samples the kernel's counters and returns a `Frame`. `table`, `detail` and `view` are
pure: they turn a frame, the size of the terminal and the keys that were pressed into lines.
`screen` owns the terminal. `daemon_page` asks a running daemon for what needs privileges.
"""
