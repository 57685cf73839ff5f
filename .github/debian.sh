#!/bin/sh
# Runs make on this checkout in a new container of Debian 12, as the workflows do, with Docker or podman:
#   .github/debian.sh TARGET [VARIABLE=VALUE ...]
# IMAGE: another image of Debian 12; a rig that builds Go programs needs one with Go. BUILDER: podman.
set -eu
if [ $# = 0 ]; then
  echo "usage: .github/debian.sh TARGET [VARIABLE=VALUE ...]" >&2
  exit 2
fi
cd "$(dirname "$0")/.."
# Tests of recorded files of others, which are not part of the repository.
PYTEST_ADDOPTS="--ignore=rigs/corpus/test_corpus.py --ignore=rigs/corpus/test_saved_output.py
  --ignore=rigs/vendor_table/test_vendor_table.py ${PYTEST_ADDOPTS-}"
export PYTEST_ADDOPTS
# The tests make loop devices, mounts, namespaces, control groups and virtual machines.
# The files belong to another user than root of the container, which git accepts only with a setting.
# shellcheck disable=SC2016
exec "${BUILDER:-docker}" run --rm --privileged --cgroupns=host --shm-size=4g \
  --volume "$PWD:/source" --workdir /source --env CI --env PYTEST_ADDOPTS \
  "${IMAGE:-debian:12}" sh -euc '
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends ca-certificates git make python3-venv >/dev/null
    git config --global --add safe.directory /source
    exec make "$@"' sh "$@"
