"""Panels on the exporter of a host: ages of its readings, and failures of its collectors."""

from dashboards import promql as q
from dashboards.panel_parts import THIRD, Panel, Query
from dashboards.panels import timeline


def exporter() -> tuple[Panel, ...]:
    def age(family: str) -> str:
        return f"time() - {q.of_host(family)}"

    return (
        timeline(
            "Age of readings",
            "Time since the last sample, survey and heartbeat of the agent. If a value grows, "
            "what the exporter shows is old.",
            "s",
            Query(age("ssd_sampler_last_sample_timestamp_seconds"), "sample of every second"),
            Query(age("ssd_survey_last_success_timestamp_seconds"), "survey of the host"),
            Query(age("ssd_smart_agent_heartbeat_timestamp_seconds"), "agent"),
            size=THIRD,
        ),
        timeline(
            "Failed readings in 24 h, by collector",
            "Readings that failed or omitted something, failed SMART polls, and gaps of the "
            "sampler, in the last 24 h. See the log of the exporter.",
            "short",
            Query(
                q.occurred(q.increase(q.of_host("ssd_collector_errors_total"), "24h")),
                "{{collector}}: {{reason}}",
            ),
            Query(
                q.occurred(
                    q.increase(q.of_drive("ssd_smart_polls_total", 'result!="success"'), "24h")
                ),
                "SMART poll {{result}} {{device}}",
            ),
            Query(
                q.occurred(q.increase(q.of_host("ssd_sampler_gaps_total"), "24h")),
                "gaps of the sampler",
            ),
            size=THIRD,
            nothing="no failed reading",
        ),
        timeline(
            "Memory of the exporter",
            "Resident memory of the process.",
            "decbytes",
            Query(q.of_host("process_resident_memory_bytes"), "resident"),
            size=THIRD,
        ),
    )
