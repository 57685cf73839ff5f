#!/bin/sh
# Starts ssd-exporter with the newest supported Python of the system. RHEL 8 and 9 have a `python3` that
# is too old, and the version beside it differs from host to host.
for python in /usr/bin/python3.14 /usr/bin/python3.13 /usr/bin/python3.12 /usr/bin/python3.11 /usr/bin/python3.10; do
  # -I and -S: Python ignores the caller's environment and other installed libraries.
  [ ! -x "$python" ] || exec "$python" -IS /usr/lib/ssd-exporter/ssd-exporter "$@"
done
echo 'ssd-exporter: no Python 3.10 to 3.14 in /usr/bin; on RHEL and Rocky run: dnf install python3.11' >&2
exit 1
