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
kind=deb
. packaging/build_directory.sh
package=ssd-exporter_${version}_$architecture.deb
staged "$python" "$machine" "$work/stage"
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
(cd "$work/tree" && env PATH=/usr/sbin:/usr/bin:/sbin:/bin STAGE="$work/stage" \
  SOURCE_DATE_EPOCH="$when" DEB_BUILD_OPTIONS=nocheck \
  dpkg-buildpackage --host-arch "$architecture" -us -uc -b -d) > "$work/log" 2>&1 || {
  cat "$work/log" >&2
  exit 1
}
mv "$work/$package" "dist/$package"
ls -l "dist/$package"
