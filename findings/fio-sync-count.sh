#!/bin/sh
# How often fio synced, according to its JSON.
#
# Guess: with 12 writes and a sync after each, jobs[0].sync.total_ios is 12.
#
# Seen with fio 3.33 (Debian 12, 3.33-3), 12 writes:
#   option                     sync.total_ios    sync.lat_ns.N    system calls
#   --fsync=1                  11                11               fsync between two writes: none after the last
#   --fdatasync=1              0                 11               fdatasync between two writes
#   --fsync=1 --end_fsync=1    11                11               the fsync at the end is in neither number
# So a measurement of commits per second that divides total_ios by the time gets 0 for fdatasync, with which
# InnoDB can be configured to sync its redo log. The number of measured latencies (lat_ns.N) is right.
#
# Writes a file of 48 KiB in a temporary folder with fio from its package. Requires Debian 12 (apt-get,
# dpkg-deb) and jq. Exits with 1 if the behaviour has changed.
set -eu

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

# fio and the libraries of its I/O engines.
packages=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
    --no-replaces --no-enhances fio | grep '^lib' | grep -v '^libc6$' | sort -u)
# shellcheck disable=SC2086  a list of packages
apt-get download -qq fio=3.33-3 $packages 2>/dev/null
for package in ./*.deb; do
    dpkg-deb -x "$package" root
done

counts() { # counts OPTION...: writes, counted syncs, measured syncs
    LD_LIBRARY_PATH=root/usr/lib/x86_64-linux-gnu:root/lib/x86_64-linux-gnu \
        root/usr/bin/fio --name=t --filename=file --rw=write --bs=4k --ioengine=psync \
        --size=1M --number_ios=12 --output-format=json "$@" |
        jq -r '.jobs[0] | "\(.write.total_ios) \(.sync.total_ios) \(.sync.lat_ns.N)"'
}

changed=0
expect() { # expect EXPECTED OPTION...
    expected=$1
    shift
    seen=$(counts "$@")
    printf '%-24s writes, total_ios, lat_ns.N: %s\n' "$*" "$seen"
    if [ "$seen" != "$expected" ]; then
        echo "changed: $*: expected $expected"
        changed=1
    fi
}

expect "12 11 11" --fsync=1
expect "12 0 11" --fdatasync=1
expect "12 11 11" --fsync=1 --end_fsync=1
exit "$changed"
