#!/bin/sh
# Fractions in the options of fio.
#
# Guess: --rate=0.5M is 512 KiB/s and --runtime=0.5s half a second, or fio reports an error.
#
# Seen with fio 3.33 (Debian 12, 3.33-3): fio reads the digits before the point and drops the rest, with
# the unit. The exit status is 0.
#   option            effect
#   --rate=0.5M       no limit
#   --runtime=0.5s    no limit: with time_based, fio warns and reads the whole file
#   --runtime=1.5s    1 second
#   --io_size=0.5M    the whole file
#   --size=1.5M       1 byte, which is an error if it is less than a block: the only one that fails
# So a short or slow measurement on a production host becomes one at full speed. Write 512k and 500ms.
#
# Reads a file of 1 MiB in a temporary folder with fio from its package. Requires Debian 12 (apt-get,
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

read_file() { # read_file OPTION...: prints the result as JSON, preceded by any warning
    LD_LIBRARY_PATH=root/usr/lib/x86_64-linux-gnu:root/lib/x86_64-linux-gnu \
        root/usr/bin/fio --name=t --filename=file --rw=read --bs=4k --ioengine=psync \
        --output-format=json "$@" 2>&1 || echo "exit status $?"
}

job() { # job FILTER OPTION...: one value of the result
    filter=$1
    shift
    read_file "$@" | sed -n '/^{/,/^}/p' | jq "$filter"
}

changed=0
expect() { # expect NAME LEAST MOST SEEN
    printf '%-44s %s\n' "$1" "$4"
    if [ "$4" -lt "$2" ] || [ "$4" -gt "$3" ]; then
        echo "changed: $1: expected $2 to $3"
        changed=1
    fi
}

slow="--size=1M --rate=512k"
# shellcheck disable=SC2086  two options
{
    expect "512 KiB/s: milliseconds" 1900 2500 "$(job '.jobs[0].job_runtime' $slow)"
    expect "rate=0.5M: milliseconds" 0 1000 "$(job '.jobs[0].job_runtime' --size=1M --rate=0.5M)"
    expect "runtime=500ms: milliseconds" 400 1000 \
        "$(job '.jobs[0].job_runtime' $slow --time_based --runtime=500ms)"
    expect "runtime=0.5s: milliseconds" 1900 2500 \
        "$(job '.jobs[0].job_runtime' $slow --time_based --runtime=0.5s)"
    expect "runtime=1.5s: milliseconds" 900 1100 \
        "$(job '.jobs[0].job_runtime' $slow --time_based --runtime=1.5s)"
}
expect "io_size=512k: bytes" 524288 524288 "$(job '.jobs[0].read.io_bytes' --size=1M --io_size=512k)"
expect "io_size=0.5M: bytes" 1048576 1048576 "$(job '.jobs[0].read.io_bytes' --size=1M --io_size=0.5M)"
expect "size=1.5M: exit status" 1 1 "$(read_file --size=1.5M | sed -n 's/^exit status //p')"
exit "$changed"
