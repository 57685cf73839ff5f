"""The first page of the demo: a paragraph about each host, the notifications, and what is sped up.

It is HTML without a script. Pure.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass

#: What differs from a production host, in sentences.
SPED_UP = """
Alerts wait at most 5 seconds here. Production rules wait up to 6 hours, and their texts name these
times, such as "for half an hour".
Prometheus scrapes every 5 seconds, and SMART data is read every 10 seconds.
The drives, their load and their history of a year are simulated. The exporter, the rules,
Prometheus and Alertmanager are the real ones.
"""

#: What each host shows, as a paragraph.
ABOUT = {
    "db1": """
Two healthy drives with little to do. A page without a problem looks like this: the awaits are
inside their band, the strip below the charts is grey, and there is no list of what to do.
""",
    "db2": """
MySQL asks for more reads than nvme0n1 can serve: its await leaves the band, the strip shows the
verdict device, and the list says what to do. nvme1n1 has used 85 % of its rated endurance. This is
a warning, because a worn drive works for months. Its own page shows the wear of a year.
""",
    "db3": """
A restore fills the write cache of nvme0n1: its throughput falls after about 20 seconds, and the
verdict is write cache. sda has a SATA link with a quarter of its speed, so the same load gives the
verdict link. After a pause the caches are empty, and it begins again.
""",
    "db4": """
nvme0n1 has 84 °C and writes slower than it could: the verdict is thermal. nvme1n1 begins to fail:
a read takes 60 times as long, although it has little to do. No cause can be measured, so the
verdict is unknown. It ends and begins again, because the load is close to the limit of the rule.
""",
    "db5": """
nvme1n1 is critical: its spare blocks are used up, and it predicts its failure. It is in the
headline, and its alert pages. nvme0n1 could do more, but interrupts fill the CPU that completes its
requests: the verdict is cpu softirq. A faster drive would not help.
""",
    "db6": """
nvme0n1 is a cloud volume at the limit of its provider: its throughput is constant, and the verdict
is throttled. In the first ten seconds at the limit it is unknown. nvme1n1 does not answer
SMART commands. This is a warning, because its I/O goes on; nothing is known about its health.
""",
}

_STYLE = (
    "body{font:16px/1.5 system-ui,'Noto Sans',sans-serif;max-width:56rem;margin:2rem auto;"
    "padding:0 1rem;color-scheme:light dark}h1{font-size:1.5rem}h2{font-size:1.1rem;margin:1.5rem 0"
    " .25rem}code,pre{font-size:.875rem}pre{white-space:pre-wrap;overflow-wrap:anywhere}"
    "dt{font-weight:600;margin-top:.75rem}dd{margin:0}"
)


@dataclass(frozen=True)
class Stop:
    """A host of the tour."""

    name: str
    address: str


def tour(
    stops: Sequence[Stop], alerts: str, commands: Sequence[str], notifications: Sequence[str]
) -> str:
    """Returns the page as HTML.

    alerts: the URL of the alerts of Prometheus. commands: command lines that work on the hosts.
    notifications: a line for each notification, the oldest first.
    """
    hosts = "".join(
        f'<dt><a href="http://{each.address}/">{_text(each.name)}</a></dt>'
        f"<dd>{_text(ABOUT[each.name])}</dd>"
        for each in stops
    )
    shown = "\n".join(commands)
    lines = "\n".join(map(_text, reversed(notifications))) or "None yet."
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="refresh" content="15"><title>Demo of ssd-exporter</title>'
        f"<style>{_STYLE}</style></head><body><h1>Demo of ssd-exporter: six hosts</h1>"
        "<p>The headline of each page names the most urgent drive. The list below it says what to"
        f" do.</p><dl>{hosts}</dl><h2>Alerts</h2><p>"
        f'<a href="{_text(alerts)}">The alerts in Prometheus</a>. Alertmanager groups them and'
        f" sends these notifications, the newest first:</p><pre>{lines}</pre>"
        f"<h2>Commands</h2><pre>{_text(shown)}</pre>"
        f"<h2>What is faster than in production</h2><p>{_text(SPED_UP)}</p></body></html>\n"
    )


def _text(text: str) -> str:
    return html.escape(text)
