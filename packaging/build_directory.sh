# Sourced by deb.sh, rpm.sh and archive.sh in the directory of the project, with `kind` set. It sets
# version, and when: the time of the last commit, so that builds of a commit are reproducible byte by
# byte. It makes the directory work, which is removed at the end, and dist.
# shellcheck shell=sh disable=SC2034,SC2154  # the sourcing script sets and uses these variables
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' exporter/__init__.py)
when=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
mkdir -p build dist
work=$(mktemp -d "$PWD/build/$kind.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# staged PYTHON MACHINE DIRECTORY: puts what install.sh installs into a directory. `make release` stages
# once for all packages of an architecture, in the directory STAGE.
staged() {
  if [ -n "${STAGE:-}" ]; then
    cp -a "$STAGE" "$3"
  else
    packaging/stage.sh "$1" "$2" "$3"
  fi
}
