"""Each story can be evaluated with the rules that it needs."""

from rigs.engines.needed_rules import needed

RULES = [
    {"record": "ssd:limit", "expr": "vector(1)"},
    {"record": "ssd:rate", "expr": "rate(ssd_total[5m])"},
    {"record": "ssd:unused", "expr": "ssd:rate * 2"},
    {"alert": "SSDFast", "expr": "ssd:rate > on() ssd:limit"},
    {"alert": "SSDOther", "expr": "ssd_other > 1"},
    {"alert": "SSDAfterOther", "expr": 'ALERTS{job="ssd",alertname="SSDOther"} unless ssd:limit'},
    {"alert": "SSDMissing", "expr": 'count({__name__=~"ssd:l.+"}) != 1'},
    {"alert": "SSDAfterAny", "expr": 'ALERTS{alertname=~"SSD.+"}'},
]


def test_an_alert_needs_the_recording_rules_that_it_uses() -> None:
    assert {"SSDFast", "ssd:rate", "ssd:limit"} == needed(RULES, ["SSDFast"])
    assert {"SSDOther"} == needed(RULES, ["SSDOther"])
    assert {"SSDMissing", "ssd:limit"} == needed(RULES, ["SSDMissing"])


def test_an_alert_needs_the_alerts_that_it_selects() -> None:
    assert {"SSDAfterOther", "SSDOther", "ssd:limit"} == needed(RULES, ["SSDAfterOther"])
    assert {"ssd:unused"} == {str(r.get("record")) for r in RULES if "record" in r} - needed(
        RULES, ["SSDAfterAny"]
    )


def test_an_alert_without_a_rule_needs_nothing() -> None:
    assert set() == needed(RULES, ["SSDUnknown"])
