#!/bin/sh
# Prints drives.yml for compose.yml: the drives of this host, which the agent may read.
#
#   container/drives.sh > container/drives.yml
#
# Run it again after a drive was added or removed. Drives that only a RAID controller shows are not
# found: add their device nodes to drives.yml (docs/smart.md).
set -eu
# Another directory than /sys is for tests.
sys=${1:-/sys}

# Device nodes of the drives, one a line: of NVMe the controller, of SATA and SAS the disk.
drives() {
  for place in "$sys"/class/nvme/nvme*; do
    [ ! -e "$place" ] || echo "/dev/${place##*/}"
  done
  for place in "$sys"/block/sd*; do
    # Removable ones are card readers and USB sticks.
    [ ! -e "$place" ] || [ "$(cat "$place/removable")" = 1 ] || echo "/dev/${place##*/}"
  done
}

found=$(drives)
echo "# Written by container/drives.sh."
echo "services:"
echo "  ssd-smart-agent:"
if [ -z "$found" ]; then
  echo "drives.sh: $sys has no NVMe, SATA or SAS drive: there will be no SMART data" >&2
  echo "    devices: []"
  exit
fi
echo "    devices:"
for node in $found; do
  echo "      - $node:$node:r"
done
