#!/bin/sh
# Installs missing Debian packages, as root or with sudo if it needs no password. If that is not possible,
# it prints the missing packages and returns 0, so that the caller continues without them.
set -u
missing=
for package in "$@"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
    missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1; then
  echo "apt-get not found. Install the equivalents of these Debian packages:$missing" >&2
  exit 0
fi
if [ "$(id -u)" = 0 ]; then
  as_root=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
  as_root='sudo -n'
else
  echo "Missing packages that only root can install:$missing" >&2
  echo "Run: sudo apt-get install --no-install-recommends$missing" >&2
  exit 0
fi
echo "Installing:$missing"
# policy-rc.d prevents apt from starting the daemons of these packages. Tests start them on other ports.
policy=/usr/sbin/policy-rc.d
made=
trap '[ -z "$made" ] || $as_root rm -f "$policy"' EXIT
trap 'exit 130' INT TERM HUP
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null && $as_root chmod 755 "$policy" && made=yes
fi
$as_root apt-get update -qq &&
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
status=$?
[ "$status" = 0 ] || echo "Could not install:$missing" >&2
exit 0
