#!/bin/sh
# The label `le` of a bucket with a whole number as its bound, scraped and received by OTLP.
#
# Guess: Prometheus 3 stores one bound under one text, because it normalises `le` since 3.0 ("1" of a
# scraped page becomes "1.0").
#
# Seen with Prometheus 3.16.0 (module v0.316.0, built with Go 1.26.8):
#   way                         le of the bound 1
#   scraped, le="1.0"           1.0
#   scraped, le="1"             1.0
#   OTLP, explicit bound 1      1
# So a query with le="1.0" finds nothing for the same metric that an OpenTelemetry Collector hands on by
# OTLP, and a series of its bucket starts anew when a target changes from scraping to OTLP. No
# translation strategy of the setting `otlp` changes it (run: the default and NoTranslation).
#
# Builds Prometheus from its module and runs it on loopback, in a temporary folder. Requires Go 1.26, curl,
# jq and python3; the first build takes minutes. Exits with 1 if the behaviour has changed.
set -eu

place=$(mktemp -d)
pids=
cleanup() {
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    for pid in $pids; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$place"
}
trap cleanup EXIT
cd "$place"
PATH=$PATH:/usr/local/go/bin
GOBIN=$place go install -trimpath github.com/prometheus/prometheus/cmd/prometheus@v0.316.0

changed=0
expect() { # expect NAME EXPECTED SEEN
    printf '%-30s %s\n' "$1" "$3"
    if [ "$2" != "$3" ]; then
        echo "changed: $1: expected $2"
        changed=1
    fi
}

mkdir page
for form in 1.0 1; do
    printf '# TYPE of_%s_seconds histogram\nof_%s_seconds_bucket{le="%s"} 1\n' "${form%.0}x${#form}" \
        "${form%.0}x${#form}" "$form"
    printf 'of_%s_seconds_bucket{le="+Inf"} 1\n' "${form%.0}x${#form}"
done >page/metrics
python3 -m http.server --bind 127.0.0.1 --directory page 18431 >/dev/null 2>&1 &
pids="$pids $!"

port=18432
for strategy in UnderscoreEscapingWithSuffixes NoTranslation; do
    cat >"$strategy.yml" <<END
global: {scrape_interval: 1s, scrape_timeout: 1s}
otlp: {translation_strategy: $strategy}
scrape_configs:
  - job_name: page
    fallback_scrape_protocol: PrometheusText0.0.4
    static_configs: [{targets: ["127.0.0.1:18431"]}]
END
    ./prometheus --config.file="$strategy.yml" --storage.tsdb.path="$strategy" \
        --web.listen-address="127.0.0.1:$port" --web.enable-otlp-receiver >"$strategy.log" 2>&1 &
    pids="$pids $!"
    for _ in $(seq 100); do
        curl -fs "http://127.0.0.1:$port/-/ready" >/dev/null && break
        sleep 0.2
    done
    now=$(date +%s)000000000
    curl -fs -H 'Content-Type: application/json' "http://127.0.0.1:$port/api/v1/otlp/v1/metrics" -d '{
        "resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "otlp_seconds", "histogram": {
            "aggregationTemporality": 2, "dataPoints": [{"startTimeUnixNano": "'"$now"'",
            "timeUnixNano": "'"$now"'", "count": "1", "sum": 1, "bucketCounts": ["1", "0"],
            "explicitBounds": [1]}]}}]}]}]}' >/dev/null
    le() { # le NAME: the label of the first bucket
        curl -fs "http://127.0.0.1:$port/api/v1/query" --data-urlencode "query=$1_seconds_bucket{le!=\"+Inf\"}" |
            jq -r '.data.result[0].metric.le'
    }
    # The first scrape is some seconds after the start.
    for _ in $(seq 100); do
        [ "$(le of_1x1)" = null ] || break
        sleep 0.2
    done
    expect "$strategy:" "" ""
    expect '  scraped, le="1.0"' 1.0 "$(le of_1x3)"
    expect '  scraped, le="1"' 1.0 "$(le of_1x1)"
    expect '  OTLP, explicit bound 1' 1 "$(le otlp)"
    port=$((port + 1))
done
exit $changed
