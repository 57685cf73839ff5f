#!/bin/sh
# Builds the package for RHEL, Fedora and openSUSE: dist/ssd-exporter-VERSION-1.ARCHITECTURE.rpm.
set -eu
umask 022
if [ $# != 2 ]; then
  echo "usage: packaging/rpm.sh PYTHON x86_64|aarch64" >&2
  exit 2
fi
cd "$(dirname "$0")/.."
python=$1
machine=$2
case $machine in
  x86_64 | aarch64) ;;
  *) echo "rpm.sh: unsupported architecture $machine; supported are x86_64 and aarch64" >&2; exit 2 ;;
esac
url=$(sed -n 's/^Homepage = "\(.*\)"$/\1/p' pyproject.toml)
kind=rpm
. packaging/build_directory.sh
package=ssd-exporter-$version-1.$machine.rpm
staged "$python" "$machine" "$work/stage"
echo "Building $package with rpmbuild"
env PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C SOURCE_DATE_EPOCH="$when" rpmbuild -bb --target "$machine" \
  --define "_topdir $work/top" --define "_rpmdir $work" --define "_rpmfilename $package" \
  --define "version $version" --define "url $url" --define "stage $work/stage" \
  --define "source $PWD/packaging/rpm" --define "_buildhost localhost" \
  --define "use_source_date_epoch_as_buildtime 1" --define "clamp_mtime_to_source_date_epoch 1" \
  packaging/rpm/ssd-exporter.spec > "$work/log" 2>&1 || {
  cat "$work/log" >&2
  exit 1
}
mv "$work/$package" "dist/$package"
ls -l "dist/$package"
