#!/bin/sh
# Builds dist/ssd-exporter-VERSION-linux-ARCHITECTURE.tar.gz for each architecture: wheels and
# install.sh, for systems without Debian packages and without a network.
set -eu
umask 022
if [ $# -lt 2 ]; then
  echo "usage: packaging/archive.sh PYTHON x86_64|aarch64 ..." >&2
  exit 2
fi
cd "$(dirname "$0")/.."
python=$1
shift
kind=archive
. packaging/build_directory.sh
for machine in "$@"; do
  name=ssd-exporter-$version-linux-$machine
  staged "$python" "$machine" "$work/$name"
  echo "Compressing $name.tar.gz"
  tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$when" -cf - "$name" |
    gzip -9n > "$work/$name.tar.gz"
  mv "$work/$name.tar.gz" dist/
  ls -l "dist/$name.tar.gz"
done
