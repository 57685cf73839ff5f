#!/bin/sh
# Builds the Debian package: dist/ssd-exporter_VERSION_ARCHITECTURE.deb.
set -eu
umask 022
if [ $# != 2 ]; then
  echo "usage: packaging/deb.sh PYTHON x86_64|aarch64" >&2
  exit 2
fi
cd "$(dirname "$0")/.."
python=$1
machine=$2
case $machine in
  x86_64) architecture=amd64 ;;
  aarch64) architecture=arm64 ;;
  *) echo "deb.sh: unsupported architecture $machine; supported are x86_64 and aarch64" >&2; exit 2 ;;
esac
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' exporter/__init__.py)
package=ssd-exporter_${version}_$architecture.deb
# The time of the last commit, so that builds of a commit are reproducible byte by byte.
when=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}

mkdir -p build dist
work=$(mktemp -d "$PWD/build/deb.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
# `make release` stages once for all packages of an architecture.
stage=${STAGE:-$work/stage}
[ -n "${STAGE:-}" ] || packaging/stage.sh "$python" "$machine" "$stage"
echo "Building $package with debhelper"
mkdir "$work/tree"
cp -R packaging/debian "$work/tree/debian"
cat > "$work/tree/debian/changelog" <<EOF
ssd-exporter ($version) stable; urgency=medium

  * See /usr/share/doc/ssd-exporter/changelog.gz.

 -- $(sed -n 's/^Maintainer: //p' packaging/debian/control)  $(LC_ALL=C date -u -R -d "@$when")
EOF
# PATH: debhelper needs the Perl and Python of the system. -d: packages.sh has installed the build
# dependencies.
(cd "$work/tree" && env PATH=/usr/sbin:/usr/bin:/sbin:/bin STAGE="$stage" \
  SOURCE_DATE_EPOCH="$when" DEB_BUILD_OPTIONS=nocheck \
  dpkg-buildpackage --host-arch "$architecture" -us -uc -b -d) > "$work/log" 2>&1 || {
  cat "$work/log" >&2
  exit 1
}
mv "$work/$package" "dist/$package"
ls -l "dist/$package"
