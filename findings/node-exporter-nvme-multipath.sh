#!/bin/sh
# The I/O of an NVMe drive with two ports in node_exporter.
#
# With NVMe multipath, the kernel lists the drive (nvme0n1) and, as hidden disks, its paths (nvme0c0n1,
# nvme0c1n1) in /proc/diskstats. lsblk and udev do not show hidden disks. Since Linux 6.4 the drive counts
# the I/O of its paths (commit d4d957b53d91); before, only the paths count.
#
# Guess: node_exporter omits the paths, as it omits partitions.
#
# Seen with node_exporter 1.5.0 (Debian 12, prometheus-node-exporter 1.5.0-1+b6) and its default filter: it
# exports the drive and both paths. So sum(rate(node_disk_read_bytes_total[5m])) is twice the I/O of the
# host since Linux 6.4, and an alert per device fires for the drive and for its path. Exclude them with
# --collector.diskstats.device-exclude, or in queries with device!~"nvme[0-9]+c[0-9]+n[0-9]+".
#
# Runs only node_exporter, from its package on loopback, on a file in the format of the kernel, in a temporary
# folder. Requires Debian 12 (apt-get, dpkg-deb) and curl. Exits with 1 if the behaviour has changed.
set -eu

place=$(mktemp -d)
server=
cleanup() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$place"
}
trap cleanup EXIT
cd "$place"

# A download as root for the user _apt prints a warning.
apt-get download -qq prometheus-node-exporter=1.5.0-1+b6 2>/dev/null
dpkg-deb -x prometheus-node-exporter_*.deb root

mkdir proc sys
# Of 100 reads of 8 sectors, 60 took one path and 40 the other.
cat >proc/diskstats <<'END'
 259       0 nvme0n1 100 0 800 10 0 0 0 0 0 10 10 0 0 0 0 0 0
 259       1 nvme0c0n1 60 0 480 6 0 0 0 0 0 6 6 0 0 0 0 0 0
 259       2 nvme0c1n1 40 0 320 4 0 0 0 0 0 4 4 0 0 0 0 0 0
 259       3 nvme0n1p1 100 0 800 10 0 0 0 0 0 10 10 0 0 0 0 0 0
END

root/usr/bin/prometheus-node-exporter --path.procfs=proc --path.sysfs=sys \
    --collector.disable-defaults --collector.diskstats \
    --web.listen-address=127.0.0.1:19177 >log 2>&1 &
server=$!
for _ in $(seq 50); do
    curl -fs http://127.0.0.1:19177/metrics >page && break
    sleep 0.2
done

seen=$(sed -n 's/^node_disk_read_bytes_total{device="\(.*\)"} /\1 /p' page | sort)
expected=$(printf '%s\n' 'nvme0c0n1 245760' 'nvme0c1n1 163840' 'nvme0n1 409600')
printf 'bytes read, 409600 in all:\n%s\n' "$seen"
if [ "$seen" != "$expected" ]; then
    printf 'changed: expected\n%s\n' "$expected"
    exit 1
fi
