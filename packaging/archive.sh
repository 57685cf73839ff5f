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
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' exporter/__init__.py)
when=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
mkdir -p build dist
work=$(mktemp -d "$PWD/build/archive.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
for machine in "$@"; do
  name=ssd-exporter-$version-linux-$machine
  # `make release` stages once for all packages of an architecture.
  if [ -n "${STAGE:-}" ]; then
    cp -a "$STAGE" "$work/$name"
  else
    packaging/stage.sh "$python" "$machine" "$work/$name"
  fi
  echo "Compressing $name.tar.gz"
  tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$when" -cf - "$name" |
    gzip -9n > "$work/$name.tar.gz"
  mv "$work/$name.tar.gz" dist/
  ls -l "dist/$name.tar.gz"
done
