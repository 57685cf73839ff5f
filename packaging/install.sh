#!/bin/sh
# Installs ssd-exporter from the files in the directory of this script, without network and pip. It
# is used by `make install`, the Debian package and the archive for other systems. It starts no
# service.
set -eu
umask 022

usage() {
  cat <<'EOF'
usage: install.sh [--prefix DIR] [--destdir DIR] [--python PROGRAM] [--unit-directory DIR] [--remove]

  --prefix DIR          installation prefix (default: /usr/local)
  --destdir DIR         root directory that replaces /, for packagers
  --python PROGRAM      absolute path of the Python to use, 3.10 or later
  --unit-directory DIR  directory of the units (default: PREFIX/lib/systemd/system)
  --remove              uninstall from PREFIX; settings and state remain
EOF
}

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

prefix=/usr/local
destdir=
python=
unit_directory=
remove=
while [ $# -gt 0 ]; do
  case $1 in
    --prefix=* | --destdir=* | --python=* | --unit-directory=*)
      option=${1%%=*}
      value=${1#*=}
      shift
      set -- "$option" "$value" "$@"
      continue ;;
    --remove) remove=yes; shift; continue ;;
    --help | -h) usage; exit 0 ;;
    --prefix | --destdir | --python | --unit-directory) ;;
    *) usage >&2; fail "unknown option: $1" ;;
  esac
  [ $# -ge 2 ] || fail "$1 requires a value"
  case $1 in
    --prefix) prefix=$2 ;;
    --destdir) destdir=$2 ;;
    --python) python=$2 ;;
    --unit-directory) unit_directory=$2 ;;
  esac
  shift 2
done
for path in "$prefix" "$python" "$unit_directory"; do
  case $path in
    '' | /*) ;;
    *) fail "$path must be an absolute path" ;;
  esac
  # The paths are inserted into the first line of a script, into units, and into sed expressions.
  case $path in
    *[!A-Za-z0-9_./+@-]*) fail "$path: only letters, digits and _ . / + @ - are allowed" ;;
  esac
done
while [ "$prefix" != "${prefix%/}" ]; do
  prefix=${prefix%/}
done
[ -n "$prefix" ] || fail "--prefix requires a directory other than /"
unit_directory=${unit_directory:-$prefix/lib/systemd/system}
# A system-wide installation uses /etc for its settings.
case $prefix in
  /usr | /usr/local) etc=/etc ;;
  *) etc=$prefix/etc ;;
esac
library=$prefix/lib/ssd-exporter
share=$prefix/share
list=$destdir$library.files

remove_listed() {
  [ -r "$list" ] || fail "no installation found at $prefix ($list is missing)"
  while read -r file; do
    rm -f "$destdir$file"
  done < "$list"
  rm -rf "$destdir${library:?}" "$destdir$share/ssd-exporter" "$destdir$share/doc/ssd-exporter"
  rm -f "$list"
}
if [ -n "$remove" ]; then
  remove_listed
  echo "Removed. The settings ($etc/ssd-exporter, $etc/default/ssd-exporter), the state"
  echo "(/var/lib/ssd-exporter) and the user ssd-exporter remain."
  exit 0
fi

here=$(cd "$(dirname "$0")" && pwd)
[ -d "$here/wheels" ] || fail "$here contains no wheels: run this script from the unpacked archive"

can_run() {
  "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}
if [ -z "$python" ]; then
  # Prefers the Python of the system: the user ssd-exporter may not be able to access one in a home directory.
  for directory in /usr/bin/ ''; do
    for name in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
      found=$(command -v "$directory$name") && can_run "$found" && python=$found && break 2
    done
  done
  [ -n "$python" ] || fail "no Python 3.10 or later found; on RHEL and Rocky run: dnf install python3.11"
  # Resolves links of virtual environments and version managers, which other users may not be able to access.
  python=$("$python" -c 'import sys; print(sys._base_executable)')
fi
can_run "$python" || fail "$python is not Python 3.10 or later"
if [ -z "$destdir" ]; then
  "$python" - "$(cat "$here/architecture")" <<'EOF' || exit 1
import os, platform, sys

wanted = sys.argv[1]
if platform.machine() != wanted:
    sys.exit(f"install.sh: this archive is for {wanted}, but this machine is {platform.machine()}")
try:
    name, _, version = os.confstr("CS_GNU_LIBC_VERSION").partition(" ")
except (AttributeError, OSError, ValueError):
    name, version = "another C library", "0"
if name != "glibc" or tuple(map(int, version.split("."))) < (2, 28):
    sys.exit(f"install.sh: glibc 2.28 or later is required, but this system has {name} {version}")
EOF
fi

# Unpacks beside the old version, so that a full disk does not damage the old version.
unpacked=$destdir$library.new
rm -rf "$unpacked"
mkdir -p "$unpacked"
for wheel in "$here"/wheels/*.whl; do
  "$python" -m zipfile -e "$wheel" "$unpacked"
done
# An extension module for one Python version only. Nothing uses it.
rm -f "$unpacked"/yaml/_yaml.*.so
find "$unpacked" -type d -exec chmod 755 {} + -o -type f -exec chmod 644 {} +
[ -n "$destdir" ] || "$python" -m compileall -q -s "$unpacked" -p "$library" "$unpacked"

# Removes the files of an older version.
[ ! -r "$list" ] || remove_listed
rm -rf "$destdir${library:?}"
mv "$unpacked" "$destdir$library"
: > "$list"

put() {  # put MODE SOURCE TARGET
  mkdir -p "$(dirname "$destdir$3")"
  rm -f "$destdir$3"
  sed -e "s|/usr/bin/ssd-exporter|$prefix/bin/ssd-exporter|g" \
    -e "s|/usr/share/|$share/|g" -e "s|/etc/ssd-exporter|$etc/ssd-exporter|g" \
    -e "s|/etc/default/|$etc/default/|g" "$2" > "$destdir$3"
  chmod "$1" "$destdir$3"
  echo "$3" >> "$list"
}

put_settings() {  # put_settings SOURCE TARGET: keeps a modified file
  if [ -e "$destdir$2" ]; then
    put 644 "$1" "$2.new"
    if cmp -s "$destdir$2" "$destdir$2.new"; then
      rm -f "$destdir$2.new"
    else
      echo "Kept the modified $destdir$2. The new default is in $2.new"
    fi
  else
    put 644 "$1" "$2"
    # --remove does not delete settings.
    sed -i '$d' "$list"
  fi
}

mkdir -p "$destdir$share/ssd-exporter" "$destdir$share/doc/ssd-exporter"
launcher=$destdir$prefix/bin/ssd-exporter
mkdir -p "$destdir$prefix/bin"
rm -f "$launcher"
# -I and -S: Python ignores the caller's environment and other installed libraries.
cat > "$launcher" <<EOF
#!$python -IS
import sys

sys.path.append("$library")

try:
    from exporter.cli import main

    # A command imports its modules when it runs.
    sys.exit(main())
except ModuleNotFoundError as e:
    if e.name not in sys.stdlib_module_names:
        raise
    # python3-minimal of Debian has a part of the standard library.
    message = f"ssd-exporter: this Python has no module {e.name}; on Debian run: apt-get install python3"
    sys.exit(message)
EOF
chmod 755 "$launcher"
echo "$prefix/bin/ssd-exporter" >> "$list"

for unit in "$here"/systemd/*.service; do
  put 644 "$unit" "$unit_directory/${unit##*/}"
done
for file in "$here"/systemd/*.sysusers; do
  put 644 "$file" "$prefix/lib/sysusers.d/$(basename "$file" .sysusers).conf"
done
for file in "$here"/systemd/*.tmpfiles; do
  put 644 "$file" "$prefix/lib/tmpfiles.d/$(basename "$file" .tmpfiles).conf"
done
for file in "$here"/systemd/*.conf "$here"/systemd/textfile/*; do
  put 644 "$file" "$share/doc/ssd-exporter/examples/${file##*/}"
done
put_settings "$here/systemd/config.toml" "$etc/ssd-exporter/config.toml"
for file in "$here"/systemd/*.default; do
  put_settings "$file" "$etc/default/$(basename "$file" .default)"
done
for page in "$here"/man/*.1; do
  put 644 "$page" "$share/man/man1/${page##*/}"
done
put 644 "$here/completion/bash" "$share/bash-completion/completions/ssd-exporter"
put 644 "$here/completion/zsh" "$share/zsh/site-functions/_ssd-exporter"
put 644 "$here/completion/fish" "$share/fish/vendor_completions.d/ssd-exporter.fish"
cp -R "$here"/share/* "$destdir$share/ssd-exporter"
cp -R "$here"/doc/* "$destdir$share/doc/ssd-exporter"

[ -z "$destdir" ] || exit 0
echo "Installed: $prefix/bin/ssd-exporter"
case $prefix in
  /usr | /usr/local)
    cat <<EOF
To start it now and at boot:
  systemd-sysusers ssd-exporter.conf && systemd-tmpfiles --create ssd-exporter.conf
  systemctl daemon-reload
  systemctl enable --now ssd-smart-agent ssd-exporter
Then: $prefix/bin/ssd-exporter check, and the status page on http://127.0.0.1:10177/
To measure latency with scheduled probes: $prefix/bin/ssd-exporter enable-probes
After an upgrade: systemctl daemon-reload && systemctl restart ssd-smart-agent ssd-exporter
EOF
    ;;
  *) echo "systemd does not read units from $unit_directory; run systemctl link for each unit." ;;
esac
