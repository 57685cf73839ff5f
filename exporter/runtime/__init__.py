"""What the rest of the program is built on: errors, logs, clock, threads, files and state.

These modules know nothing about drives. `errors` defines all exceptions, and `collector_status` is
the place that catches them. `untrusted_file` opens every file that another user may have written or
named; `output_file` writes the files that a user names, `lock_file` keeps two processes apart,
`state` keeps values across restarts, and `privileges` lets root act as the owner of a directory.
"""
