#!/bin/sh
# A number with a leading zero in PromQL and in MetricsQL.
#
# Guess: 0100 is 100, as in the grammar of the PromQL documentation ([0-9]+), or an error.
#
# Seen with Prometheus 2.42.0 (Debian 2.42.0+ds-5+deb12u1; 3.16.0, built from its module, printed the
# same) and VictoriaMetrics 1.79.5 (Debian 1.79.5+ds1-2+b5; 1.150.0 accepts and refuses the same):
#   written     Prometheus     VictoriaMetrics
#   0100        64 (octal)     64 (octal)
#   0100.5      100.5          refused
#   089         89             refused (vmalert then refuses the whole rule file)
#   0o100       refused        64
# So a program that pads numbers with zeros writes thresholds that are too low, and only for numbers
# without a fraction whose digits are all below 8. promtool does not warn.
#
# Runs promtool and VictoriaMetrics from their packages on loopback, in a temporary folder. Requires
# Debian 12 (apt-get, dpkg-deb), curl and jq. Exits with 1 if the behaviour has changed.
set -eu

place=$(mktemp -d)
server=
cleanup() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$place"
}
trap cleanup EXIT
cd "$place"

# A download as root for the user _apt prints a warning.
apt-get download -qq prometheus=2.42.0+ds-5+deb12u1 victoria-metrics=1.79.5+ds1-2+b5 2>/dev/null
for package in ./*.deb; do
    dpkg-deb -x "$package" root
done

changed=0
expect() { # expect NAME EXPECTED SEEN
    printf '%-34s %s\n' "$1" "$3"
    if [ "$2" != "$3" ]; then
        echo "changed: $1: expected $2"
        changed=1
    fi
}

prometheus() { # prometheus NUMBER: its value, or "refused"
    cat >test.yml <<END
tests:
  - interval: 1m
    input_series: [{series: one, values: 1}]
    promql_expr_test: [{expr: "one * $1", eval_time: 0m, exp_samples: []}]
END
    value=$(root/usr/bin/promtool test rules test.yml 2>&1 | sed -n 's/.*got: {} //p')
    if [ -n "$value" ]; then printf '%g' "$value"; else echo refused; fi
}

root/usr/bin/victoria-metrics -storageDataPath="$place/data" -httpListenAddr=127.0.0.1:18428 \
    -retentionPeriod=1 >server.log 2>&1 &
server=$!
for _ in $(seq 50); do
    curl -fs http://127.0.0.1:18428/health >/dev/null && break
    sleep 0.2
done

victoria() { # victoria NUMBER: its value, or "refused"
    curl -s http://127.0.0.1:18428/api/v1/query --data-urlencode "query=$1" |
        jq -r 'if .status == "success" then .data.result[0].value[1] else "refused" end'
}

for row in "0100 64 64" "0100.5 100.5 refused" "089 89 refused" "0o100 refused 64"; do
    # shellcheck disable=SC2086  the row is split on purpose
    set -- $row
    expect "Prometheus 2.42.0: $1" "$2" "$(prometheus "$1")"
    expect "VictoriaMetrics 1.79.5: $1" "$3" "$(victoria "$1")"
done
exit "$changed"
