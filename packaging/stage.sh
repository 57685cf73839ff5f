#!/bin/sh
# Collects everything that install.sh installs: wheels, man page, completion, units, alerts and
# dashboards. Only this step needs a network.
set -eu
umask 022
if [ $# != 3 ]; then
  echo "usage: packaging/stage.sh PYTHON x86_64|aarch64 DIRECTORY" >&2
  exit 2
fi
python=$1
architecture=$2
out=$3
here=$(dirname "$0")
top=$here/..
quietly='--quiet --disable-pip-version-check --no-input'

rm -rf "$out"
mkdir -p "$out/wheels" "$out/man" "$out/completion" "$out/share" "$out/doc"

echo "1/3 Downloading the libraries for $architecture (packaging/vendored.txt)"
# Wheels for every Python from 3.10; cp311 is for PyYAML only (see vendored.txt).
fitting="--only-binary=:all: --implementation cp --python-version 3.11
  --abi cp311 --abi abi3 --abi none
  --platform manylinux_2_28_$architecture --platform manylinux_2_17_$architecture
  --platform manylinux2014_$architecture --platform any"
# shellcheck disable=SC2086
"$python" -m pip download $quietly $fitting --no-deps --require-hashes \
  -r "$here/vendored.txt" -d "$out/wheels"
echo "2/3 Building the wheel of ssd-exporter"
# shellcheck disable=SC2086
"$python" -m pip wheel $quietly --no-deps -w "$out/wheels" "$top"
# Fails if pyproject.toml requires a package that vendored.txt does not contain.
# shellcheck disable=SC2086
"$python" -m pip install $quietly $fitting --dry-run --no-index --find-links "$out/wheels" \
  --target "$out/wheels" "$out"/wheels/ssd_exporter-*.whl

echo "3/3 Generating man pages and completions, copying alerts, dashboards and documents"
PYTHONPATH=$top "$python" "$here/manual.py" "$out/man"
for shell in bash zsh fish; do
  PYTHONPATH=$top "$python" "$here/completion.py" "$shell" > "$out/completion/$shell"
done
cp -R "$top/systemd" "$out/systemd"
cp -R "$top/alerts" "$out/share/alerts"
mkdir "$out/share/dashboards"
cp -R "$top"/dashboards/*.json "$top/dashboards/README.md" "$top/dashboards/kustomization.yaml" \
  "$top/dashboards/provisioning" "$out/share/dashboards"
cp "$top/README.md" "$top/CHANGELOG.md" "$top/METRICS.md" "$top/LICENSE" "$out/doc"
cp -R "$top/docs" "$out/doc/docs"
# No document shows these pictures, and they are larger than all other files of the package together.
rm -rf "$out/doc/docs/pictures/matrix"
# The documents link to these files and directories. The last two are installed beside this directory.
cp "$top/DESIGN.md" "$top/CONTRIBUTING.md" "$top/SECURITY.md" "$out/doc"
for directory in systemd packaging container; do
  mkdir "$out/doc/$directory"
  cp "$top/$directory/README.md" "$out/doc/$directory"
done
ln -s ../../ssd-exporter/alerts "$out/doc/alerts"
ln -s ../../ssd-exporter/dashboards "$out/doc/dashboards"
cp "$here/install.sh" "$out"
echo "$architecture" > "$out/architecture"
find "$out" -name __pycache__ -prune -exec rm -rf {} +
